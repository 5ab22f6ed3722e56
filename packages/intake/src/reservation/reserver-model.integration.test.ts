import { randomUUID } from 'node:crypto';
import { connectRedis, type RedisConnection } from '@leadgate/boot';
import { testRedis } from '@leadgate/testkit';
import { externalKey, isExternalKey, type HeldReason } from '@leadgate/contract';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stateKey } from '../keys.ts';
import { openWorkspace } from './marker.ts';
import { createReserver, type Reservation, type ReservationRequest } from './reserver.ts';

let redis: RedisConnection;
let other: RedisConnection;
beforeAll(async () => {
  const { url } = await testRedis();
  redis = connectRedis(url, { role: 'worker' });
  other = connectRedis(url, { role: 'worker' });
});
afterAll(() => {
  redis.disconnect();
  other.disconnect();
});

type Reserved = Extract<Reservation, { kind: 'reserved' }>;

/** What the reservation promises, one request after the other. */
class Model {
  #open = true;
  readonly #owners = new Map<string, string>();
  readonly #identities = new Map<string, number>();
  readonly #uses = new Map<string, number>();
  readonly #records = new Map<
    string,
    { bodyHash: string; submissionId: string; held: HeldReason | undefined; reserved: Reserved }
  >();

  set open(open: boolean) {
    this.#open = open;
  }

  reserve(request: ReservationRequest, order: number): Reservation {
    const { idempotency, submissionId, linkId } = request;
    const recordName = `${linkId} ${idempotency?.key ?? ''}`;
    const record = idempotency && this.#records.get(recordName);
    if (record) {
      this.#count(request);
      if (record.bodyHash !== idempotency.bodyHash) return { kind: 'key-reused' };
      const { leadId, order } = record.reserved;
      const repeated = { kind: 'repeated' as const, submissionId: record.submissionId };
      if (record.held) return { ...repeated, leadId, order, identities: [], held: record.held };
      const owners = new Map(record.reserved.identities.map(({ key, owner }) => [key, owner]));
      const identities = request.identityKeys.map((key) => ({
        key,
        owner: owners.get(key) ?? null,
      }));
      return { ...repeated, leadId, order, identities };
    }
    if (request.limits.some(({ key, max }) => (this.#uses.get(key) ?? 0) >= max))
      return { kind: 'limited', retryAfterSeconds: 0 };
    this.#count(request);
    if (!this.#open) return { kind: 'behind' };
    const reserved: Reserved =
      request.held === undefined
        ? this.#claimAll(request, order)
        : { kind: 'reserved', leadId: request.offeredLeadId, identities: [], order };
    const { bodyHash } = idempotency ?? {};
    if (bodyHash !== undefined)
      this.#records.set(recordName, { bodyHash, submissionId, held: request.held, reserved });
    return reserved;
  }

  #claimAll({ identityKeys: all, offeredLeadId, joinLimit }: ReservationRequest, order: number) {
    const [external] = all.filter(isExternalKey);
    const identityKeys = all.filter((key) => key !== external);
    const known = external === undefined ? undefined : this.#owners.get(external);
    const isOver =
      joinLimit !== undefined &&
      identityKeys.length > 1 &&
      (this.#uses.get(joinLimit.key) ?? 0) >= joinLimit.max;
    const heard = isOver ? identityKeys.slice(0, 1) : identityKeys;
    if (known !== undefined) {
      const ownerOf = (key: string) =>
        heard.includes(key) ? (this.#owners.get(key) ?? null) : null;
      const identities = [
        { key: external!, owner: known },
        ...identityKeys.map((key) => ({ key, owner: ownerOf(key) })),
      ];
      const again = { kind: 'reserved', leadId: known, identities, order, isKnown: true } as const;
      return isOver ? { ...again, joinLimited: true as const } : again;
    }
    const owners = heard.map((key) => this.#owners.get(key));
    const leadId = owners.find((owner) => owner !== undefined) ?? offeredLeadId;
    const meet = leadId !== offeredLeadId && owners.some((owner) => owner !== leadId);
    if (meet && joinLimit && identityKeys.length > 1) this.#count({ limits: [joinLimit] });
    const identities = identityKeys.map((key) => ({
      key,
      owner: heard.includes(key) ? this.#claim(key, leadId) : null,
    }));
    // Two places are kept for what a lead is created with, be they taken or not.
    this.#identities.set(leadId, Math.max(2, this.#identities.get(leadId) ?? 0));
    if (external !== undefined) {
      this.#owners.set(external, leadId);
      identities.unshift({ key: external, owner: leadId });
    }
    const reserved: Reserved = { kind: 'reserved', leadId, identities, order };
    return isOver ? { ...reserved, joinLimited: true as const } : reserved;
  }

  #count({ limits }: Pick<ReservationRequest, 'limits'>): void {
    for (const { key, weight = 1 } of limits)
      this.#uses.set(key, (this.#uses.get(key) ?? 0) + weight);
  }

  #claim(key: string, leadId: string): string | null {
    const owner = this.#owners.get(key);
    if (owner !== undefined) return owner;
    const identities = this.#identities.get(leadId) ?? 0;
    if (identities >= 50) return null;
    this.#owners.set(key, leadId);
    this.#identities.set(leadId, identities + 1);
    return leadId;
  }
}

const keyOf = (kind: string) =>
  fc.option(fc.constantFrom('1', '2', '3').map((n) => `${kind}:${n}`));
const requestArb = fc.record({
  external: fc.option(fc.constantFrom('x', 'y', 'z'), { freq: 1 }),
  email: keyOf('email'),
  phone: keyOf('phone'),
  // Now and then one that no other request has: a lead may come to more than it may have.
  fresh: fc.nat({ max: 60 }),
  key: fc.option(fc.constantFrom('k', 'l'), { freq: 2 }),
  bodyHash: fc.constantFrom('x', 'y'),
  linkId: fc.constantFrom('link a', 'link b'),
  address: fc.constantFrom('address:1', 'address:2'),
  weight: fc.constantFrom(1, 1, 1, 3, 64),
  held: fc.boolean(),
});
const stepArb = fc.oneof(
  { weight: 8, arbitrary: fc.array(requestArb, { minLength: 1, maxLength: 12 }) },
  { weight: 1, arbitrary: fc.constantFrom('close' as const, 'open' as const) },
);

test('any history, however it is grouped and over two receivers, is the one of the model', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(stepArb, { maxLength: 12 }), async (history) => {
      while (!(await sameAsModel(history)));
    }),
    // Stops shrinking in time to say what it found.
    { numRuns: 150, interruptAfterTimeLimit: 15_000 },
  );
});

type Step = typeof stepArb extends fc.Arbitrary<infer T> ? T : never;

/** False if the minute of Redis changed meanwhile, and with it the counts. */
async function sameAsModel(history: Step[]): Promise<boolean> {
  const workspaceId = randomUUID();
  await openWorkspace(redis, workspaceId);
  const reservers = [createReserver(redis), createReserver(other)];
  const model = new Model();
  const minute = async () => Math.floor(Number((await redis.time())[0]) / 60);
  const before = await minute();
  const answers: Reservation[] = [];
  const expected: Reservation[] = [];
  for (const [i, step] of history.entries()) {
    if (step === 'open') await openWorkspace(redis, workspaceId);
    else if (step === 'close') await redis.hdel(stateKey(workspaceId), 'open');
    if (typeof step === 'string') {
      model.open = step === 'open';
      continue;
    }
    const requests = step.map((request) => toRequest(workspaceId, request));
    const group = await Promise.all(requests.map((r) => reservers[i % 2]!.reserve(r)));
    answers.push(...group);
    group.forEach((answer, k) =>
      expected.push(model.reserve(requests[k]!, 'order' in answer ? answer.order : NaN)),
    );
  }
  if ((await minute()) !== before) return false;
  expect(answers.map(withoutWait)).toEqual(expected);
  const orders = answers.flatMap((answer) => (answer.kind === 'reserved' ? answer.order : []));
  expect(orders).toEqual([...new Set(orders)].toSorted((a, b) => a - b));
  return true;
}

type Request = typeof requestArb extends fc.Arbitrary<infer T> ? T : never;

function toRequest(workspaceId: string, request: Request): ReservationRequest {
  const { external, email, phone, fresh, key, bodyHash, linkId, address, weight, held } = request;
  const identityKeys = [email, phone].filter((k) => k !== null);
  if (external !== null) identityKeys.unshift(externalKey('link', external));
  if (fresh > 40) for (let i = 40; i < fresh; i++) identityKeys.push(`phone:${randomUUID()}`);
  return {
    submissionId: randomUUID(),
    workspaceId,
    linkId,
    offeredLeadId: randomUUID(),
    identityKeys,
    ...(key !== null && { idempotency: { key, bodyHash } }),
    ...(held && { held: 'honeypot' as const }),
    joinLimit: { key: `join:${address}`, max: 4 },
    limits: [
      { key: linkId, max: 40 },
      { key: address, max: 30, weight },
    ],
  };
}

const withoutWait = (answer: Reservation): Reservation =>
  answer.kind === 'limited' ? { ...answer, retryAfterSeconds: 0 } : answer;
