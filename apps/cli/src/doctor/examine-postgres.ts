import {
  directoryRevision,
  doubtfulPhones,
  type DoubtfulPhones,
  listWorkspaces,
  migrationState,
  NIL_UUID,
  openAlarms,
  renewSecrets,
  retentionStandings,
  type RetentionStanding,
  SECRET_HOLDERS,
  unrecognisedPosts,
} from '@leadgate/store';
import { explain, whereIs } from '../explain.ts';
import { migrationsFolder } from '../migrations-folder.ts';
import type { Session } from '../session.ts';
import type { Finding, PostgresFacts } from './examine.ts';

/** Whether Postgres answers and has the tables of this version, and what it says. */
export async function examinePostgres(
  session: Session,
): Promise<{ findings: Finding[]; facts: PostgresFacts | null }> {
  try {
    const state = await migrationState(session.store(), migrationsFolder);
    const reachable: Finding = {
      check: 'postgres',
      status: 'ok',
      found: `answers at ${whereIs(session.databaseUrl())}`,
      todo: null,
    };
    const migrations = migrationsFinding(state);
    if (migrations.status === 'fail') return { findings: [reachable, migrations], facts: null };
    const standings = await retentionStandings(session.store());
    const phones = telephonesFinding(await doubtfulPhones(session.store()));
    return {
      findings: [
        ...[reachable, migrations, retentionFinding(standings), phones],
        unrecognisedFinding(await unrecognisedPosts(session.store())),
        alarmsFinding(await openAlarms(session.store())),
        await secretsFinding(session),
      ],
      facts: await readPostgresFacts(session),
    };
  } catch (error) {
    const { sentence } = explain(error, session);
    const finding: Finding = {
      check: 'postgres',
      status: 'fail',
      found: sentence,
      todo: 'Accepted leads wait in Redis meanwhile; nothing is lost.',
    };
    return { findings: [finding], facts: null };
  }
}

function migrationsFinding(state: Awaited<ReturnType<typeof migrationState>>): Finding {
  const { pending, failed, unknown } = state;
  const check = 'migrations';
  if (failed.length > 0)
    return {
      check,
      status: 'fail',
      found: `failed half-way: ${failed.join(', ')}`,
      todo: 'Mend the database by hand, then mark it with prisma migrate resolve.',
    };
  if (pending.length > 0)
    return {
      check,
      status: 'fail',
      found: `not applied: ${pending.join(', ')}`,
      todo: 'Run leadgate migrate (or npm start).',
    };
  if (unknown.length > 0)
    return {
      check,
      status: 'warn',
      found: `applied by a newer version: ${unknown.join(', ')}`,
      todo: 'Use the version that the other processes run.',
    };
  return { check, status: 'ok', found: 'all applied', todo: null };
}

function retentionFinding(standings: readonly RetentionStanding[]): Finding {
  const waiting = standings.flatMap(({ subject, wanted }) =>
    wanted === null ? [] : [{ subject, wanted: wanted.toISOString() }],
  );
  if (waiting.length === 0)
    return { check: 'retention', status: 'ok', found: 'nothing waits for a word', todo: null };
  return {
    check: 'retention',
    status: 'warn',
    found: waiting
      .map(({ subject, wanted }) => `${subject} from before ${wanted} would go`)
      .join('; '),
    todo: 'That is more than a month beyond the last run. If clocks and days are right: leadgate retention allow.',
  };
}

/** So many of 200 are more than people who mistype. */
const MANY_PHONES = 5;
const NAMED = 3;

/** Proposes the setting by which numbers of nobody join no people, if many were sent. */
function telephonesFinding(all: readonly DoubtfulPhones[]): Finding {
  const check = 'telephones';
  const found: string[] = [];
  const todo: string[] = [];
  for (const { workspace, dummyClasses, shared, ...counts } of all) {
    const classes = (['repeated', 'impossible'] as const).filter(
      (name) => counts[name] >= MANY_PHONES && !dummyClasses.includes(name),
    );
    if (classes.length === 0 && shared < MANY_PHONES) continue;
    const ofNobody = classes.map((name) => `${counts[name]} ${name}`);
    const parts = [...ofNobody, ...(shared > 0 ? [`${shared} of several people`] : [])];
    found.push(`"${workspace}": ${parts.join(', ')} among its last 200`);
    const wanted = [...dummyClasses, ...classes].join(' ');
    if (classes.length > 0)
      todo.push(`leadgate workspace set "${workspace}" --dummy-class ${wanted}`);
  }
  if (found.length === 0)
    return { check, status: 'ok', found: 'few that may be nobody’s', todo: null };
  const more = found.length > NAMED ? `; and ${found.length - NAMED} workspaces more` : '';
  const set =
    todo.length === 0 ? '' : `To have them identify nobody: ${todo.slice(0, NAMED).join('; ')}. `;
  return {
    check,
    status: 'warn',
    found: `${found.slice(0, NAMED).join('; ')}${more}`,
    todo: `${set}Whom one joined already, leadgate lead split ID --by email takes apart.`,
  };
}

/** Names the links whose posts say nothing: their leads are empty. */
function unrecognisedFinding(posts: Awaited<ReturnType<typeof unrecognisedPosts>>): Finding {
  const check = 'senders';
  const links = [...posts].sort(([, a], [, b]) => b.week - a.week);
  if (links.length === 0)
    return { check, status: 'ok', found: 'every post of a week was understood', todo: null };
  const named = links.slice(0, NAMED).map(([id, { week }]) => `${week} of link ${id}`);
  const more = links.length > NAMED ? `; and of ${links.length - NAMED} links more` : '';
  return {
    check,
    status: 'warn',
    found: `nothing was recognised in posts of the last seven days: ${named.join('; ')}${more}`,
    todo: 'leadgate link suggest LINK proposes a mapping; then leadgate submission read-again --link LINK.',
  };
}

function alarmsFinding(counts: Record<string, number>): Finding {
  const open = Object.entries(counts).flatMap(([kind, n]) => (n > 0 ? [`${n} of ${kind}`] : []));
  if (open.length === 0)
    return { check: 'alarms', status: 'ok', found: 'none is open', todo: null };
  return {
    check: 'alarms',
    status: 'warn',
    found: `open: ${open.join(', ')}`,
    todo: 'See leadgate alarm list.',
  };
}

/** Whether every secret is under SECRETS_KEY. */
async function secretsFinding(session: Session): Promise<Finding> {
  const check = 'secrets';
  const keyring = await session.keyring();
  if (keyring === null)
    return { check, status: 'ok', found: 'not looked at: SECRETS_KEY is not set here', todo: null };
  const counts = { renewed: 0, unreadable: 0 };
  for (const holder of SECRET_HOLDERS)
    for (let after: string | null = NIL_UUID; after !== null;) {
      const step = await renewSecrets(session.store(), keyring, holder, { after, dryRun: true });
      counts.renewed += step.renewed;
      counts.unreadable += step.unreadable;
      after = step.last;
    }
  if (counts.unreadable > 0)
    return {
      check,
      status: 'fail',
      found: `${counts.unreadable} are under a key that is not SECRETS_KEY`,
      todo: 'Set SECRETS_KEY_BEFORE to the key that encrypted them, then leadgate key rotate.',
    };
  if (counts.renewed > 0)
    return {
      check,
      status: 'warn',
      found: `${counts.renewed} are plain, or under the key before`,
      todo: 'Run leadgate key rotate.',
    };
  return { check, status: 'ok', found: 'all are encrypted under SECRETS_KEY', todo: null };
}

async function readPostgresFacts(session: Session): Promise<PostgresFacts> {
  const store = session.store();
  const [revision, workspaces] = await Promise.all([
    directoryRevision(store),
    listWorkspaces(store),
  ]);
  return { directoryRevision: revision, workspaces };
}
