import { PhoneClass, roleIn, type FieldError } from '@leadgate/contract';
import { phoneKeyOf } from '@leadgate/leads';
import {
  beginRemoval,
  countWorkspace,
  createWorkspace,
  findWorkspace,
  listWorkspaces,
  refillSource,
  removeWorkspace,
  updateWorkspace,
  workspaceLinkEntries,
} from '@leadgate/store';
import { Type } from 'typebox';
import { invalid, NOTHING_NAMED, operation, Refusal, UNKNOWN_WORKSPACE } from './operation.ts';
import { isTimeZone } from './import/times.ts';
import { tellRedis } from './run.ts';
import { At, Nullable, Uuid } from './schema.ts';

const dummyPhones = Type.Array(Type.String({ maxLength: 40 }), {
  maxItems: 1_000,
  description: 'Telephones that identify nobody.',
});
const dummyClasses = Type.Array(PhoneClass, {
  maxItems: 2,
  description:
    'Classes of telephones that identify nobody: repeated (one repeated digit after the area code), impossible (no number of any plan). None by default.',
});

const Count = Type.Integer();

const timeZone = Type.String({
  maxLength: 64,
  description: 'Of times that do not say their zone, by its IANA name: America/Sao_Paulo.',
});

const WorkspaceView = Type.Object({
  id: Uuid,
  name: Type.String(),
  country: Type.String(),
  dummyPhones,
  dummyClasses,
  timeZone,
  demo: Nullable(
    Type.Enum(['begun', 'full'], {
      description: 'Its people are invented: it is being filled, or is. Null: it is no demo.',
    }),
  ),
  createdAt: At,
});

/** Workspaces, which own links, fields and leads. */
export const workspace = {
  list: operation({
    name: 'workspace.list',
    id: 'listWorkspaces',
    method: 'GET',
    path: '/workspaces',
    summary: 'List the workspaces that you may see',
    scope: 'own',
    input: Type.Object({}),
    output: Type.Array(WorkspaceView),
    run: async (_input, { store }, { actor }) =>
      (await listWorkspaces(store)).filter(({ id }) => roleIn(actor, id) !== null),
  }),

  create: operation({
    name: 'workspace.create',
    id: 'createWorkspace',
    method: 'POST',
    path: '/workspaces',
    summary: 'Create a workspace',
    subject: ['name'],
    input: Type.Object({
      name: Type.String(),
      country: Type.Optional(Type.String({ description: 'ISO 3166-1; BR if it is left out.' })),
      dummyPhones: Type.Optional(dummyPhones),
    }),
    output: WorkspaceView,
    status: 201,
    run: async (
      { name, country: typed = 'BR', dummyPhones: typedPhones = [] },
      connections,
      call,
    ) => {
      const country = typed.trim().toUpperCase();
      const phones = readPhones(typedPhones, country);
      if (phones.kind === 'invalid') return invalid(phones.errors);
      const outcome = await createWorkspace(connections.store, {
        name,
        country,
        dummyPhones: phones.keys,
      });
      if (outcome.kind === 'invalid') return invalid(outcome.errors);
      if (outcome.kind === 'name-taken')
        return new Refusal(
          'conflict',
          `There is a workspace "${outcome.name}" already; choose another name.`,
        );
      await tellRedis(connections, call, async (redis) => {
        const { openWorkspace } = await import('@leadgate/intake');
        await openWorkspace(redis, outcome.workspace.id);
      });
      return outcome.workspace;
    },
  }),

  /** It counts for what comes from then on: keys that are claimed stay, and nothing asks for them. */
  set: operation({
    name: 'workspace.set',
    id: 'changeWorkspace',
    method: 'PATCH',
    path: '/workspaces/:workspaceId',
    summary: 'Change which telephones identify nobody, or the time zone; what is not named stays',
    changes: {
      before: ({ workspaceId }, { store }) => findWorkspace(store, String(workspaceId)),
      told: ['dummyClasses', 'timeZone'],
    },
    input: Type.Object({
      workspaceId: Uuid,
      dummyPhones: Type.Optional(dummyPhones),
      dummyClasses: Type.Optional(dummyClasses),
      timeZone: Type.Optional(timeZone),
    }),
    output: WorkspaceView,
    run: async (
      { workspaceId, dummyPhones: typedPhones, dummyClasses: classes, timeZone: zone },
      connections,
      call,
    ) => {
      const { store } = connections;
      if (typedPhones === undefined && classes === undefined && zone === undefined)
        return NOTHING_NAMED;
      if (zone !== undefined && !isTimeZone(zone)) return invalid([UNKNOWN_WORKSPACE_ZONE]);
      const before = await findWorkspace(store, workspaceId);
      if (before === null) return UNKNOWN_WORKSPACE;
      const phones = readPhones(typedPhones ?? [], before.country);
      if (phones.kind === 'invalid') return invalid(phones.errors);
      const changed = await updateWorkspace(store, workspaceId, {
        ...(typedPhones !== undefined && { dummyPhones: phones.keys }),
        ...(classes !== undefined && { dummyClasses: [...new Set(classes)] }),
        ...(zone !== undefined && { timeZone: zone }),
      });
      if (changed === null) return UNKNOWN_WORKSPACE;
      const entries = await workspaceLinkEntries(store, workspaceId);
      await tellRedis(connections, call, async (redis) => {
        const { putLinks } = await import('@leadgate/intake');
        await putLinks(redis, entries);
      });
      return changed;
    },
  }),

  /** For good: nothing of it can be brought back but by a backup. */
  remove: operation({
    name: 'workspace.remove',
    id: 'removeWorkspace',
    method: 'POST',
    path: '/workspaces/:workspaceId/removal',
    summary: 'Remove a workspace with all that it holds; it cannot be undone',
    description:
      'Its links answer 404 from now on; its leads, submissions, endpoints and counts are gone, and what comes late of it is dropped. Endpoints are not told. Where it is cut off, the same again goes on. The audit log stays, and who read what.',
    role: 'administrator',
    subject: ['confirm'],
    input: Type.Object({
      workspaceId: Uuid,
      confirm: Type.Optional(
        Type.String({ description: 'The name of the workspace, unless it is a dry run.' }),
      ),
      dryRun: Type.Optional(
        Type.Boolean({ description: 'Count what would go, and change nothing.' }),
      ),
    }),
    output: Type.Object({
      workspaceId: Uuid,
      name: Type.String(),
      counts: Type.Object({
        ...{ links: Count, fields: Count, endpoints: Count, leads: Count, submissions: Count },
        ...{ rejected: Count, held: Count, deliveries: Count },
        failed: Type.Integer({
          description: 'Jobs that are out of attempts, or wait for another.',
        }),
      }),
    }),
    run: async ({ workspaceId, confirm, dryRun = false }, connections) => {
      const { store } = connections;
      const found = await findWorkspace(store, workspaceId);
      if (found === null) return UNKNOWN_WORKSPACE;
      if (!dryRun && confirm !== found.name) return NOT_CONFIRMED;
      const redis = await connections.redis();
      // With the queue behind them: loaded by who removes, not with every command about workspaces.
      const [{ followDirectory, directoryRevision, forgetWorkspace }, { eraseJobs }] =
        await Promise.all([import('@leadgate/intake'), import('@leadgate/queue')]);
      const jobs = () =>
        eraseJobs(redis, (submission) => submission.workspaceId === workspaceId, { dryRun });
      const rows = await countWorkspace(store, workspaceId);
      const answer = (failed: number) => ({
        ...{ workspaceId, name: found.name },
        counts: { ...rows, failed },
      });
      if (dryRun) return answer(await jobs());
      const linkIds = await beginRemoval(store, workspaceId);
      await followDirectory(redis, refillSource(store), await directoryRevision(redis));
      const failed = await jobs();
      await removeWorkspace(store, workspaceId);
      // Last, so that what was refused or reserved meanwhile goes too.
      await forgetWorkspace(redis, { workspaceId, linkIds });
      return answer(failed);
    },
  }),
};

const NOT_CONFIRMED = invalid([
  { pointer: '/confirm', code: 'invalid', detail: 'Confirm it by the name of the workspace.' },
]);

const UNKNOWN_WORKSPACE_ZONE: FieldError = {
  pointer: '/timeZone',
  code: 'unknown-time-zone',
  detail: 'It is no time zone of the IANA list, such as America/Sao_Paulo.',
};

/** A list of phones as they are compared, or what is wrong with it. */
function readPhones(
  phones: readonly string[],
  country: string,
): { kind: 'read'; keys: string[] } | { kind: 'invalid'; errors: FieldError[] } {
  const keys = new Set<string>();
  const errors: FieldError[] = [];
  for (const [i, phone] of phones.entries()) {
    const key = phoneKeyOf(phone, country);
    if (key === null)
      errors.push({
        pointer: `/dummyPhones/${i}`,
        code: 'not-a-telephone',
        detail: `Phone ${i + 1} of the list is not one: write its 8 to 15 digits.`,
      });
    else keys.add(key);
  }
  return errors.length > 0 ? { kind: 'invalid', errors } : { kind: 'read', keys: [...keys] };
}
