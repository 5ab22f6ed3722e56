import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { awaitRedis, connectRedis, createLogger, type RedisConnection } from '@leadgate/boot';
import type { HeldReason, Submission } from '@leadgate/contract';
import { openProducer, startApplyWorker, type ApplyWorker, type Producer } from '@leadgate/queue';
import { sampleSubmission, testRedis } from '@leadgate/testkit';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { openWorkspace } from './reservation/marker.ts';
import { createReserver, type Reserver } from './reservation/reserver.ts';
import { drainFolder } from './spool/drain.ts';
import { openSpool, type Spool } from './spool/spool.ts';
import {
  acceptOrSpool,
  createRedisDeadline,
  type IntakeWithSpool,
  accept,
  NotEnqueued,
  NotHeld,
  type AcceptRequest,
} from './accept.ts';

const logger = createLogger({ name: 'test', level: 'silent', pretty: false });

let redis: RedisConnection;
let working: RedisConnection;
let producer: Producer;
let worker: ApplyWorker;
let reserver: Reserver;
let spool: Spool;
let directory: string;
/** What came out of the queue, by workspace. */
const taken = new Map<string, Submission[]>();

beforeAll(async () => {
  const { url } = await testRedis();
  redis = connectRedis(url, { role: 'producer' });
  working = connectRedis(url, { role: 'worker' });
  await awaitRedis(redis);
  producer = await openProducer(redis, { logger });
  worker = await startApplyWorker(working, {
    concurrency: 50,
    logger,
    apply: (submissions) => {
      for (const submission of submissions) {
        const { workspaceId } = submission;
        taken.set(workspaceId, [...(taken.get(workspaceId) ?? []), submission]);
      }
      return Promise.resolve(submissions.map(() => ({ kind: 'settled' })));
    },
  });
  reserver = createReserver(redis);
  directory = mkdtempSync(join(tmpdir(), 'leadgate-spool-'));
  spool = await openSpool(directory, { maxBytes: 2 ** 24, logger });
});
afterAll(async () => {
  await worker.close({ timeoutMs: 2_000 });
  await producer.close();
  await spool.close();
  redis.disconnect();
  working.disconnect();
  rmSync(directory, { recursive: true, force: true });
});

/** Those of a workspace that came out of the queue, which is empty then. */
async function takeAll(workspaceId: string): Promise<Submission[]> {
  await vi.waitFor(async () =>
    expect(await producer.counts()).toMatchObject({ waiting: 0, active: 0 }),
  );
  return taken.get(workspaceId) ?? [];
}

interface Post {
  email: string;
  key?: string | null;
  held?: HeldReason;
}

function requestOf(workspaceId: string, { email, key = null, held }: Post): AcceptRequest {
  const { id: _, leadId, identities, order, stamp, ...sample } = sampleSubmission(1);
  return {
    submission: { ...sample, id: randomUUID(), workspaceId },
    offeredLeadId: randomUUID(),
    identityKeys: [`email:${email}`],
    ...(held && { held }),
    ...(key !== null && { idempotency: { key, bodyHash: email } }),
  };
}

async function newWorkspace(): Promise<string> {
  const workspaceId = randomUUID();
  await openWorkspace(redis, workspaceId);
  return workspaceId;
}

test('what was held first, and looks good when it is repeated, is held and owns no email', async () => {
  const workspaceId = await newWorkspace();
  const intake = { reserver, producer };
  const post = { email: 'ana@example.com', key: 'k' };
  const first = await accept(intake, requestOf(workspaceId, { ...post, held: 'too-quick' }));
  expect(await accept(intake, requestOf(workspaceId, post))).toEqual(first);
  const other = requestOf(workspaceId, { email: 'ana@example.com' });
  await accept(intake, other);
  const jobs = await takeAll(workspaceId);
  const keys = ['email:ana@example.com'];
  for (const job of jobs.filter(({ id }) => id !== other.submission.id))
    expect(job).toMatchObject({ held: { reason: 'too-quick', keys }, identities: [] });
  expect(jobs.find(({ id }) => id === other.submission.id)).toMatchObject({
    leadId: other.offeredLeadId,
    identities: [{ key: keys[0], owner: other.offeredLeadId }],
  });
});

test('a lead that meets a used key is refused, and waits for an operator, once however often it comes', async () => {
  const workspaceId = await newWorkspace();
  const intake = { reserver, producer };
  await accept(intake, requestOf(workspaceId, { email: 'stranger@example.com', key: '231-0' }));
  const real = requestOf(workspaceId, { email: 'ana@example.com', key: '231-0' });
  expect(await accept(intake, real)).toEqual({ kind: 'key-reused' });
  const again = { ...real, submission: { ...real.submission, id: randomUUID() } };
  expect(await accept(intake, again)).toEqual({ kind: 'key-reused' });
  const held = (await takeAll(workspaceId)).filter((one) => one.held !== undefined);
  expect(new Set(held.map(({ id }) => id))).toEqual(new Set([real.submission.id]));
  expect(held[0]?.held).toEqual({ reason: 'key-reused', keys: ['email:ana@example.com'] });
});

test('an email that found no room on its lead is noted', async () => {
  const workspaceId = await newWorkspace();
  const intake = { reserver, producer };
  for (let n = 0; n < 53; n++) {
    const request = requestOf(workspaceId, { email: `${n}@example.com` });
    request.identityKeys = [`email:${n}@example.com`, 'phone:+5511987654321'];
    await accept(intake, request);
  }
  const jobs = await takeAll(workspaceId);
  expect(jobs).toHaveLength(53);
  for (const { identities, notes } of jobs)
    expect(notes).toEqual(
      identities.some(({ owner }) => owner === null)
        ? [{ field: '/email', code: 'too-many-identities' }]
        : [],
    );
  expect(jobs.filter(({ notes }) => notes.length > 0)).toHaveLength(4);
});

const stepArb = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      email: fc.constantFrom('a', 'b'),
      key: fc.option(fc.constantFrom('k', 'l'), { freq: 4 }),
      looksBad: fc.boolean(),
      /** What becomes of it: the receiver may die after its reservation, or Redis be away. */
      fate: fc.constantFrom('enqueued', 'killed', 'spooled'),
    }),
  },
  { weight: 1, arbitrary: fc.constant('drain' as const) },
);
type Step = typeof stepArb extends fc.Arbitrary<infer T> ? T : never;

interface Judged {
  id: string;
  leadId: string;
  held: HeldReason | undefined;
  /** Of its email: null for what is held. */
  owner: string | null;
}

/** What accepting promises, one submission after the other. */
class Model {
  readonly #owners = new Map<string, string>();
  readonly #records = new Map<string, Judged & { bodyHash: string }>();

  /** Null: its key belongs to another body. */
  judge({ submission, offeredLeadId, identityKeys, held, idempotency }: AcceptRequest) {
    const record = idempotency && this.#records.get(idempotency.key);
    if (record) {
      const { bodyHash, ...judged } = record;
      return bodyHash === idempotency.bodyHash ? judged : null;
    }
    const [email = ''] = identityKeys;
    const leadId = held ? offeredLeadId : (this.#owners.get(email) ?? offeredLeadId);
    if (held === undefined) this.#owners.set(email, leadId);
    const judged: Judged = {
      id: submission.id,
      leadId,
      held,
      owner: held === undefined ? leadId : null,
    };
    if (idempotency)
      this.#records.set(idempotency.key, { ...judged, bodyHash: idempotency.bodyHash });
    return judged;
  }

  /** What meets a used key is held, once for each body. */
  hold({ held = 'key-reused', idempotency, ...request }: AcceptRequest): Judged {
    const { key = '', bodyHash = '' } = idempotency ?? {};
    const ofItsOwn = { key: `used ${bodyHash} ${key}`, bodyHash };
    return this.judgeAnswered({ ...request, held, idempotency: ofItsOwn });
  }

  judgeAnswered(request: AcceptRequest): Judged {
    const judged = this.judge(request);
    if (judged !== null) return judged;
    const { idempotency: _, ...withoutKey } = request;
    return this.judgeAnswered(withoutKey);
  }
}

test('a post is what it was judged to be first, held or taken, whatever becomes of it and of its repeats', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(stepArb, { maxLength: 14 }), sameAsModel),
    // Stops shrinking in time to say what it found.
    { numRuns: 60, interruptAfterTimeLimit: 20_000 },
  );
});

async function sameAsModel(history: Step[]): Promise<void> {
  const workspaceId = await newWorkspace();
  const model = new Model();
  const expected = new Map<string, Judged>();
  /** Lead ids that were answered from the spool, and the submission they were answered for. */
  const answered: { leadId: string; stands: Judged }[] = [];
  const spooled: AcceptRequest[] = [];

  const drain = async (): Promise<void> => {
    for (const folder of spool.folders())
      await drainFolder(folder, { reserver, producer }, { rate: 100_000 });
    const stand = (request: AcceptRequest, stands: Judged): void => {
      expected.set(stands.id, stands);
      answered.push({ leadId: request.offeredLeadId, stands });
    };
    // They are reserved together; one whose key is used takes its turn again, after the others.
    const again = spooled.splice(0).filter((request) => {
      const stands = model.judge(request);
      if (stands !== null) stand(request, stands);
      return stands === null;
    });
    for (const request of again) stand(request, model.judgeAnswered(request));
  };

  for (const step of [...history, 'drain' as const]) {
    if (step === 'drain') {
      await drain();
      continue;
    }
    const { email, key, looksBad, fate } = step;
    const request = requestOf(workspaceId, { email, key, ...(looksBad && { held: 'too-quick' }) });
    const outcome = await post(request, fate);
    if (fate === 'spooled') {
      spooled.push(request);
      expect(outcome).toMatchObject({ kind: 'accepted', leadId: request.offeredLeadId });
      continue;
    }
    const judged = model.judge(request);
    const kept = judged ?? model.hold(request);
    if (fate === 'killed') continue;
    expected.set(kept.id, kept);
    const { id: submissionId, leadId } = kept;
    expect(outcome).toEqual(
      judged === null ? { kind: 'key-reused' } : { kind: 'accepted', submissionId, leadId },
    );
  }

  const jobs = await takeAll(workspaceId);
  for (const { id, leadId, held, identities } of jobs) {
    const owner = identities[0]?.owner ?? null;
    expect({ id, leadId, held: held?.reason, owner }).toEqual(expected.get(id));
  }
  expect(new Set(jobs.map(({ id }) => id))).toEqual(new Set(expected.keys()));
  for (const { leadId, stands } of answered)
    if (leadId !== stands.leadId)
      expect(jobs).toContainEqual(
        expect.objectContaining({ id: stands.id, leadId: stands.leadId, answeredLeadId: leadId }),
      );
}

/** As the receiver does it; `null` for one that died between reserving and enqueuing. */
async function post(request: AcceptRequest, fate: 'enqueued' | 'killed' | 'spooled') {
  if (fate === 'killed') {
    const dying = { enqueue: () => Promise.reject(new Error('killed')) };
    return accept({ reserver, producer: dying }, request).catch((error: unknown) => {
      expect(error instanceof NotHeld ? error.cause : error).toBeInstanceOf(NotEnqueued);
      return null;
    });
  }
  const intake: IntakeWithSpool = {
    reserver,
    producer,
    spool,
    breaker: { run: (ask) => ask() },
    backpressure: () => (fate === 'spooled' ? { code: 'unavailable', reason: 'away' } : null),
    onFailure: () => undefined,
    clock: Date.now,
  };
  return acceptOrSpool(intake, request, {
    within: createRedisDeadline(700),
    maySpool: () => true,
  });
}
