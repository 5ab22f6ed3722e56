import type { Command } from 'commander';
import type { Context } from './command.ts';

/** A command of `leadgate`, or a noun whose verbs are commands, as `leadgate --help` lists it. */
export interface CommandEntry {
  name: string;
  summary: string;
  /** What gives it arguments, options and verbs. */
  load: () => Promise<(command: Command, context: Context) => void>;
}

/** Every command there is. One is loaded when it is named: most of the code is behind them. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'workspace',
    summary: 'Create workspaces, which own links, fields and leads.',
    load: async () => (await import('./commands/workspace.ts')).addWorkspaceCommands,
  },
  {
    name: 'field',
    summary: 'Create and change the custom fields of a workspace.',
    load: async () => (await import('./commands/field.ts')).addFieldCommands,
  },
  {
    name: 'link',
    summary: 'Create and change capture links, which landing pages post leads to.',
    load: async () => (await import('./commands/link.ts')).addLinkCommands,
  },
  {
    name: 'endpoint',
    summary: 'Create and change endpoints, which are told of changed leads.',
    load: async () => (await import('./commands/endpoint.ts')).addEndpointCommands,
  },
  {
    name: 'delivery',
    summary: 'See how endpoints stand with leads, and send one again.',
    load: async () => (await import('./commands/delivery.ts')).addDeliveryCommands,
  },
  {
    name: 'lead',
    summary: 'Show, find and merge the people who were captured.',
    load: async () => (await import('./commands/lead.ts')).addLeadCommands,
  },
  {
    name: 'consent',
    summary: 'List, export and withdraw what people agreed to.',
    load: async () => (await import('./commands/consent.ts')).addConsentCommands,
  },
  {
    name: 'submission',
    summary: 'Look at what was posted and accepted; read it again under a mended mapping.',
    load: async () => (await import('./commands/submission.ts')).addSubmissionCommands,
  },
  {
    name: 'held',
    summary: 'Look at what was caught as spam, and take it after all or not.',
    load: async () => (await import('./commands/held.ts')).addHeldCommands,
  },
  {
    name: 'rejected',
    summary: 'Look at bodies that were refused, mend them, and take them after all.',
    load: async () => (await import('./commands/rejected.ts')).addRejectedCommands,
  },
  {
    name: 'failed',
    summary: 'Look at accepted submissions that could not be applied, and retry them.',
    load: async () => (await import('./commands/failed.ts')).addFailedCommands,
  },
  {
    name: 'queue',
    summary: 'See how the queue stands; pause and resume it.',
    load: async () => (await import('./commands/queue.ts')).addQueueCommands,
  },
  {
    name: 'alarm',
    summary: 'See what somebody should look at: silent links, refusals, open books.',
    load: async () => (await import('./commands/alarm.ts')).addAlarmCommands,
  },
  {
    name: 'ledger',
    summary: 'Close the books: whether all that was accepted is there or on its way, by link.',
    load: async () => (await import('./commands/ledger.ts')).addLedger,
  },
  {
    name: 'series',
    summary: 'See what came over time, or by link, campaign, source or code.',
    load: async () => (await import('./commands/series.ts')).addSeries,
  },
  {
    name: 'replay',
    summary: 'Apply stored submissions again, under the custom fields of today.',
    load: async () => (await import('./commands/replay.ts')).addReplay,
  },
  {
    name: 'import',
    summary: 'Take the rows of a file as if each had been posted to a link.',
    load: async () => (await import('./commands/import.ts')).addImport,
  },
  {
    name: 'run',
    summary: 'See how far replays and imports are, wherever they run; stop and resume them.',
    load: async () => (await import('./commands/run.ts')).addRunCommands,
  },
  {
    name: 'tail',
    summary: 'Follow what comes in: submissions, refused bodies and failures, as they happen.',
    load: async () => (await import('./commands/tail.ts')).addTail,
  },
  {
    name: 'operator',
    summary: 'Choose who may sign in to the console.',
    load: async () => (await import('./commands/operator.ts')).addOperatorCommands,
  },
  {
    name: 'token',
    summary: 'Create and revoke API tokens, for programs.',
    load: async () => (await import('./commands/token.ts')).addTokenCommands,
  },
  {
    name: 'key',
    summary: 'Have secrets encrypted under another key.',
    load: async () => (await import('./commands/key.ts')).addKeyCommands,
  },
  {
    name: 'audit',
    summary: 'List who did what, when, to what: in the console, its API and at a prompt.',
    load: async () => (await import('./commands/audit.ts')).addAudit,
  },
  {
    name: 'reads',
    summary: 'List who read what about people, when, by which door.',
    load: async () => (await import('./commands/audit.ts')).addReads,
  },
  {
    name: 'retention',
    summary: 'Say for how long a workspace keeps what; see what was let go, and allow more.',
    load: async () => (await import('./commands/retention.ts')).addRetentionCommands,
  },
  {
    name: 'shards',
    summary: 'See the shards of the queue; empty those that are left over.',
    load: async () => (await import('./commands/shards.ts')).addShardsCommands,
  },
  {
    name: 'spool',
    summary: 'Look at and drain what receivers kept on disk while Redis was away.',
    load: async () => (await import('./commands/spool.ts')).addSpoolCommands,
  },
  {
    name: 'doctor',
    summary: 'Check Postgres, Redis, the link directory and the queue.',
    load: async () => (await import('./commands/doctor.ts')).addDoctor,
  },
  {
    name: 'rebuild',
    summary: 'Fill Redis from Postgres: links, and who owns which email and phone.',
    load: async () => (await import('./commands/rebuild.ts')).addRebuild,
  },
  {
    name: 'erase',
    summary: 'Erase again what an older dump brought back.',
    load: async () => (await import('./commands/erase.ts')).addEraseFromLedger,
  },
  {
    name: 'demo',
    summary: 'Make a demo workspace to look around in, and remove it.',
    load: async () => (await import('./commands/demo.ts')).addDemoCommands,
  },
  {
    name: 'migrate',
    summary: 'Bring the tables of Postgres up to this version.',
    load: async () => (await import('./commands/migrate.ts')).addMigrate,
  },
];
