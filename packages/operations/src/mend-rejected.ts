import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import { STOPPED_BY_REFILL } from './operation.ts';
import { replayAllRejected, type ReplayRejectedOptions } from './rejected-bodies.ts';
import type { Work } from './runs.ts';
import { Uuid } from './schema.ts';
import type { Servers } from './servers.ts';

/** Names of fields as in a posted body: address.city. */
const Fields = Type.Record(Type.String({ maxLength: 100 }), Type.String({ maxLength: 2_000 }), {
  maxProperties: 20,
});

/** Which refused bodies of a workspace are mended, and how. */
export const MendParameters = Type.Object({
  linkId: Type.Optional(Uuid),
  cause: Type.Optional(
    Type.String({ maxLength: 32, description: 'As /rejected/causes names it.' }),
  ),
  set: Type.Optional(
    Type.Unsafe<Static<typeof Fields>>({
      ...Fields,
      description: 'Values by field, of all of them; an empty one takes the field out.',
    }),
  ),
  move: Type.Optional(
    Type.Unsafe<Static<typeof Fields>>({
      ...Fields,
      description: 'From a field to another one, if that has no value.',
    }),
  ),
  lenient: Type.Optional(
    Type.Boolean({ description: 'Sets aside what is still wrong, as a note, and takes the rest.' }),
  ),
});

type Parameters = Static<typeof MendParameters>;

/** What is mended, as refused bodies are filtered and replayed. */
function readParameters({ set, move, lenient = false, ...filter }: Parameters): {
  filter: Pick<Parameters, 'linkId' | 'cause'>;
  options: Omit<ReplayRejectedOptions, 'now'>;
} {
  const changes = { values: set ?? {}, ...(move !== undefined && { move }) };
  const isChanged = set !== undefined || move !== undefined;
  return { filter, options: { lenient, ...(isChanged && { changes }) } };
}

/** A preview looks at so many. */
const MOST_TRIED = 5_000;

/** What a mending would come to, without doing it. */
export async function tryMending(
  servers: Servers,
  workspaceId: string,
  parameters: Parameters,
): Promise<{ accepted: number; refused: number; more: boolean }> {
  const { filter, options } = readParameters(parameters);
  const counts = { accepted: 0, refused: 0 };
  const all = { workspaceId, ...filter };
  const asked = { ...options, dryRun: true, now: Date.now() };
  for await (const { outcome } of replayAllRejected(servers, all, asked)) {
    counts[outcome.kind === 'acceptable' ? 'accepted' : 'refused'] += 1;
    if (counts.accepted + counts.refused >= MOST_TRIED) return { ...counts, more: true };
  }
  return { ...counts, more: false };
}

/**
 * Takes refused bodies after all, each changed in the same way, newest first. One that is refused again stays
 * as it was. Doing one twice makes one submission.
 */
export const mendWork: Work = async ({ run, signal, tell }, connections) => {
  const { filter, options } = readParameters(Value.Parse(MendParameters, run.parameters));
  const servers = { store: connections.store, ...(await connections.intake()) };
  const all = {
    ...{ workspaceId: run.workspaceId, ...filter, until: run.begunAt },
    ...(run.cursor !== null && { before: run.cursor }),
  };
  let { accepted = 0, refused = 0 } = run.progress;
  const asked = { ...options, signal, now: Date.now() };
  for await (const { rejectedId, outcome } of replayAllRejected(servers, all, asked)) {
    if (outcome.kind === 'behind') return { problem: STOPPED_BY_REFILL };
    if (outcome.kind === 'refused') refused += 1;
    else accepted += 1;
    tell({ accepted, refused }, rejectedId);
  }
};
