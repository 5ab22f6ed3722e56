import { databaseUrlSetting, readConfig, redisUrlSetting, urlSetting } from '@leadgate/boot';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { EXIT, Failure, type Io } from './io.ts';

/** Where the servers are. Null: nothing says it. */
export interface Servers {
  databaseUrl: string | null;
  redisUrl: string | null;
  /** Where senders reach the receiver, without a slash at its end. */
  receiverUrl: string | null;
  /** The exceptions of the guard in `npm start`. */
  allowNetworks: string[] | null;
  /** What the other processes of `npm start` run with: as settings say it. */
  secrets: Static<typeof Secrets>;
}

const Secrets = Type.Object({
  secretsKey: Type.Optional(Type.String()),
  consentKey: Type.Optional(Type.String()),
  erasureKey: Type.Optional(Type.String()),
  erasureLedger: Type.Optional(Type.String()),
});

const Environment = Type.Object({
  DATABASE_URL: Type.Optional(databaseUrlSetting()),
  REDIS_URL: Type.Optional(redisUrlSetting()),
  RECEIVER_URL: Type.Optional(
    urlSetting(['http:', 'https:'], {
      description: 'where senders reach the receiver',
      examples: ['https://leads.example.com'],
    }),
  ),
});

/** What of `run.json`, which `npm start` writes, is of use here. */
const RunFile = Type.Object({
  databaseUrl: Type.String(),
  redisUrl: Type.String(),
  receiverUrl: Type.Optional(Type.String()),
  allowNetworks: Type.Optional(Type.Array(Type.String())),
  secrets: Type.Optional(Secrets),
});

/**
 * The servers that the environment names (DATABASE_URL, REDIS_URL, RECEIVER_URL), else those of
 * `npm start`: its `run.json` in LEADGATE_HOME, or in the nearest `.leadgate` from the current
 * folder upwards. Never some of each: they would not be one service.
 */
export function findServers({ env, cwd }: Pick<Io, 'env' | 'cwd'>): Servers {
  const given = readConfig(Environment, env);
  const hasServer = given.DATABASE_URL !== undefined || given.REDIS_URL !== undefined;
  const run = hasServer ? null : readRunFile(env['LEADGATE_HOME'], cwd);
  const receiverUrl = given.RECEIVER_URL ?? run?.receiverUrl ?? null;
  return {
    databaseUrl: given.DATABASE_URL ?? run?.databaseUrl ?? null,
    redisUrl: given.REDIS_URL ?? run?.redisUrl ?? null,
    receiverUrl: receiverUrl?.replace(/(?<!\/)\/+$/, '') ?? null,
    allowNetworks: run?.allowNetworks ?? null,
    secrets: run?.secrets ?? {},
  };
}

function readRunFile(home: string | undefined, cwd: string): Static<typeof RunFile> | null {
  const path = home?.trim() ? join(resolve(cwd, home.trim()), 'run.json') : nearestRunFile(cwd);
  if (path === null || !existsSync(path)) return null;
  const value = parse(readFileSync(path, 'utf8'));
  if (Value.Check(RunFile, value)) return value;
  throw new Failure(
    `${path} does not say where the servers are: run npm start again, or set DATABASE_URL and REDIS_URL.`,
    EXIT.usage,
  );
}

function nearestRunFile(from: string): string | null {
  for (let folder = from; ; folder = dirname(folder)) {
    const path = join(folder, '.leadgate', 'run.json');
    if (existsSync(path)) return path;
    if (folder === dirname(folder)) return null;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
