import { createHash } from 'node:crypto';
import type { CaptureLink, RejectedBody, Submission } from '@leadgate/contract';
import { openWorkspace, refillWorkspace } from '@leadgate/intake';
import { readSent } from '@leadgate/leads';
import {
  applyGroup,
  countPast,
  createWorkspace,
  endDemo,
  findDemo,
  findWorkspace,
  linkEntries,
  listDuplicates,
  listEndpoints,
  listFields,
  listLinks,
  mergeLeads,
  minuteOf,
  refillSource,
  saveHeld,
  saveRejected,
  type Tally,
  type Workspace,
} from '@leadgate/store';
import { derivedId } from '../derived-id.ts';
import { endpoint } from '../endpoint.ts';
import { field } from '../field.ts';
import { link } from '../link.ts';
import { type Call, type Connections, Refusal } from '../operation.ts';
import { runOperation } from '../run.ts';
import { DEMO_FIELDS, DEMO_LINKS, demoPosts, type DemoPost } from './posts.ts';

const NAME = 'Demo';

/** Submissions of one transaction. */
const GROUP = 100;
/** Refused bodies of one statement. */
const REFUSED_AT_ONCE = 50;
/** Endpoints are told of what came since: some dozens of messages. */
const TOLD_MS = 20 * 3_600_000;
/** Pairs that somebody has looked at already. */
const MERGED = 2;

/** Nothing listens there: the port of the discard protocol (RFC 863). */
const DEAF_URL = 'http://127.0.0.1:9/leads';

/** Nothing was done: there is a workspace, or there was one. */
export type Opened = { kind: 'open'; workspace: Workspace } | { kind: 'not-fresh' };

/**
 * The demo workspace, with its fields and the link of the landing page; made if there is none. `onlyIfFresh`:
 * unless there is, or ever was, another workspace. Twice is harmless.
 */
export async function openDemo(
  connections: Connections,
  call: Call,
  { onlyIfFresh }: { onlyIfFresh: boolean },
): Promise<Opened | Refusal> {
  const { store } = connections;
  const { demo, fresh } = await findDemo(store);
  if (demo === null && onlyIfFresh && !fresh) return { kind: 'not-fresh' };
  const workspace =
    demo === null ? await makeWorkspace(connections) : await findWorkspace(store, demo);
  if (workspace instanceof Refusal) return workspace;
  if (workspace === null) return { kind: 'not-fresh' };
  const fields = await listFields(store, workspace.id);
  for (const one of DEMO_FIELDS) {
    if (fields.some(({ name }) => name === one.name)) continue;
    const input = { workspaceId: workspace.id, ...one };
    const made = await runOperation(field.create, input, connections, call);
    if (made instanceof Refusal) return made;
  }
  const made = await makeLinks(connections, call, workspace.id, [DEMO_LINKS[0].label]);
  return made instanceof Refusal ? made : { kind: 'open', workspace };
}

async function makeWorkspace({ store, redis }: Connections): Promise<Workspace | Refusal> {
  const outcome = await createWorkspace(store, {
    ...{ name: NAME, country: 'BR', dummyPhones: [], demo: 'begun' },
  });
  if (outcome.kind !== 'created')
    return new Refusal('conflict', `There is a workspace "${NAME}" already, which is no demo.`);
  await openWorkspace(await redis(), outcome.workspace.id);
  return outcome.workspace;
}

/** The links of some labels; those that are missing are made. */
async function makeLinks(
  connections: Connections,
  call: Call,
  workspaceId: string,
  labels: readonly string[],
): Promise<CaptureLink[] | Refusal> {
  const there = await listLinks(connections.store, workspaceId);
  const links: CaptureLink[] = [];
  for (const label of labels) {
    const known = there.find((one) => one.label === label);
    const made =
      known ?? (await runOperation(link.create, { workspaceId, label }, connections, call));
    if (made instanceof Refusal) return made;
    const [entry] = await linkEntries(connections.store, made.id);
    if (entry !== undefined) links.push(entry.link);
  }
  return links;
}

/** What a demo holds. */
export interface Filled {
  submissions: number;
  refused: number;
  held: number;
  endpoints: number;
}

/**
 * Fills the demo with two weeks of posts. They are read as posts are and applied as a worker does it, with
 * orders of the past that no reservation gives; Redis is filled from Postgres after it. `endpointUrl`: what answers
 * messages; null: there are no endpoints. Cut off, the same again goes on. A demo that is full stays as it is.
 */
export async function fillDemo(
  connections: Connections,
  call: Call,
  workspace: Workspace,
  endpointUrl: string | null,
): Promise<Filled | Refusal> {
  const { store } = connections;
  const workspaceId = workspace.id;
  const filled: Filled = { submissions: 0, refused: 0, held: 0, endpoints: 0 };
  if (workspace.demo === 'full') return filled;
  const labels = DEMO_LINKS.map(({ label }) => label);
  const links = await makeLinks(connections, call, workspaceId, labels);
  if (links instanceof Refusal) return links;
  const until = workspace.createdAt.getTime();
  const { submissions, refused } = readPosts(demoPosts({ seed: 19, until }), links);
  const held = submissions.filter((one) => one.held !== undefined);
  const leads = submissions.filter((one) => one.held === undefined);

  await apply(connections, leads, (one) => one.stamp < (until - TOLD_MS) * 1_000);
  const endpoints =
    endpointUrl === null ? [] : await makeEndpoints(connections, call, workspaceId, endpointUrl);
  if (endpoints instanceof Refusal) return endpoints;
  await apply(connections, leads, (one) => one.stamp >= (until - TOLD_MS) * 1_000);
  if (!(await hasRefused(connections, workspaceId))) {
    for (let i = 0; i < refused.length; i += REFUSED_AT_ONCE)
      await saveRejected(store, refused.slice(i, i + REFUSED_AT_ONCE));
    await saveHeld(store, held);
    await countPast(store, [
      ...refused.map((one) => tallyAt(one, `refused:${one.code}`)),
      ...held.map((one) => tallyAt(one, 'accepted')),
    ]);
  }
  const pairs = await listDuplicates(store, { workspaceId }, 10 * MERGED);
  for (const { a, b } of pairs.slice(-MERGED))
    await mergeLeads(store, workspaceId, a.leadId, b.leadId);
  await endDemo(store, workspaceId, endpoints.at(-1) ?? null);
  await refillWorkspace(await connections.redis(), refillSource(store), workspaceId);
  return {
    ...{ submissions: leads.length, refused: refused.length },
    ...{ held: held.length, endpoints: endpoints.length },
  };
}

async function hasRefused({ store }: Connections, workspaceId: string): Promise<boolean> {
  return (await store.prisma.rejectedSubmission.count({ where: { workspaceId } })) > 0;
}

/** Applies some of them in groups, and counts those that were not there. */
async function apply(
  { store }: Connections,
  all: readonly Submission[],
  isOne: (submission: Submission) => boolean,
): Promise<void> {
  const some = all.filter(isOne);
  for (let i = 0; i < some.length; i += GROUP) {
    const group = some.slice(i, i + GROUP);
    const { applied } = await applyGroup(
      store,
      group.map((submission) => ({ submission, replay: false })),
    );
    const done = new Set(
      applied.flatMap((one) => (one.outcome === 'already-applied' ? one.submissionId : [])),
    );
    await countPast(
      store,
      group.flatMap((one) => (done.has(one.id) ? [] : tallyAt(one, 'accepted'))),
    );
  }
}

const tallyAt = (
  { workspaceId, linkId, stamp }: Pick<Submission, 'workspaceId' | 'linkId' | 'stamp'>,
  what: Tally['what'],
): Tally => ({
  ...{ workspaceId, linkId, what, utm: null, n: 1 },
  at: minuteOf(Math.floor(stamp / 1_000)),
});

/** Reads posts as receivers do. Who is known again is found by the keys, as a reservation finds them. */
function readPosts(
  posts: readonly DemoPost[],
  links: readonly CaptureLink[],
): { submissions: Submission[]; refused: RejectedBody[] } {
  const owners = new Map<string, string>();
  const submissions: Submission[] = [];
  const refused: RejectedBody[] = [];
  for (const [
    n,
    { at, link: which, body: value, isSpam, page, userAgent, address },
  ] of posts.entries()) {
    const link = links[which];
    if (link === undefined) continue;
    const { workspaceId, linkId } = link;
    const reading = readSent(value, link, { lenient: false, now: at });
    const body = JSON.stringify(value);
    // Orders rise strictly.
    const stamp = at * 1_000 + (n % 1_000);
    const sent = {
      ...{ id: derivedId(at, [workspaceId, n.toString()]), workspaceId, linkId, stamp },
      ...{ body, bodyType: 'json' as const, page, userAgent, address },
    };
    if (reading.kind === 'refused') {
      refused.push({ ...sent, code: reading.code, errors: reading.errors });
      continue;
    }
    const { lead, notes, identities: keys, consent } = reading;
    const offered = leadIdOf(sent.id);
    const leadId = keys.map((key) => owners.get(key)).find((id) => id !== undefined) ?? offered;
    if (!isSpam) for (const key of keys) if (!owners.has(key)) owners.set(key, leadId);
    submissions.push({
      ...{ ...sent, leadId, order: stamp, source: 'post', lead, notes },
      identities: isSpam ? [] : keys.map((key) => ({ key, owner: owners.get(key) ?? null })),
      ...(consent !== undefined && { consent }),
      ...(isSpam && { held: { reason: 'honeypot', keys } }),
    });
  }
  return { submissions, refused };
}

/** A random UUID by its look; of the same post the same. */
function leadIdOf(submissionId: string): string {
  const hex = createHash('sha256').update(`lead ${submissionId}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** The ids of one that answers and one that does not. None without a key for their secrets. */
async function makeEndpoints(
  connections: Connections,
  call: Call,
  workspaceId: string,
  endpointUrl: string,
): Promise<string[] | Refusal> {
  const there = await listEndpoints(connections.store, workspaceId);
  const ids: string[] = [];
  for (const { name, url } of [
    { name: 'CRM', url: endpointUrl },
    { name: 'Planilha antiga', url: DEAF_URL },
  ]) {
    const known = there.find((one) => one.name === name);
    const input = { workspaceId, name, url };
    const made = known ?? (await runOperation(endpoint.create, input, connections, call));
    if (made instanceof Refusal) return made;
    ids.push(made.id);
  }
  return ids;
}
