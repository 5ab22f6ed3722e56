import { type Static, type TObject, type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import { errorFacts } from './logger.ts';

/** One server of a Cluster. */
export interface RedisNode {
  host: string;
  port: number;
}

/** Where Redis is: one server, or some nodes of a Cluster, which knows the others. */
type RedisAddress =
  | { kind: 'server'; url: string }
  | {
      kind: 'cluster';
      nodes: RedisNode[];
      /** Those of the first URL: all nodes have the same. */
      login: { username?: string; password?: string };
      tls: boolean;
    };

const PROTOCOLS = ['redis:', 'rediss:'];
const DEFAULT_PORT = 6379;

/**
 * Reads REDIS_URL: a URL, or several with commas between them (the protocol, user and password of the
 * first stand for those that do not say theirs). Several are nodes of a Cluster; one is if
 * `cluster` says so. Throws a TypeError with what is wrong, and without the text, which holds a secret.
 */
export function readRedisAddress(
  text: string,
  { cluster = false }: { cluster?: boolean } = {},
): RedisAddress {
  const parts = partsOf(text);
  const [first, ...others] = parts.map((part) => (part.includes('://') ? part : `//${part}`));
  const start = parse(first ?? '');
  if (others.length === 0 && !cluster) return { kind: 'server', url: text.trim() };
  const urls = [start, ...others.map((part) => parse(part, start.protocol))];
  for (const url of urls) {
    if (url.hostname === '') throw new TypeError(WRONG);
    if (url.pathname.replace(/^\/0?$/, '') !== '')
      throw new TypeError('must not name a database: a Cluster has one');
    const isOther =
      url.protocol !== start.protocol ||
      (url.password !== '' && url.password !== start.password) ||
      (url.username !== '' && url.username !== start.username);
    if (isOther)
      throw new TypeError('must have the same protocol, user and password for all nodes');
  }
  return {
    kind: 'cluster',
    nodes: urls.map(({ hostname, port }) => ({
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: port === '' ? DEFAULT_PORT : Number(port),
    })),
    login: {
      ...(start.username !== '' && { username: decodeURIComponent(start.username) }),
      ...(start.password !== '' && { password: decodeURIComponent(start.password) }),
    },
    tls: start.protocol === 'rediss:',
  };
}

/** A comma may also stand in a password: then what is before it is no URL by itself. */
function partsOf(text: string): string[] {
  const parts = text.split(',').map((part) => part.trim());
  const isOne = !URL.canParse(parts[0] ?? '') && URL.canParse(text.trim());
  return isOne ? [text.trim()] : parts;
}

function parse(text: string, protocol = ''): URL {
  const whole = text.startsWith('//') ? `${protocol}${text}` : text;
  if (!URL.canParse(whole)) throw new TypeError(WRONG);
  const url = new URL(whole);
  if (!PROTOCOLS.includes(url.protocol)) throw new TypeError(WRONG);
  return url;
}

const WRONG =
  'must be a URL that starts with redis:// or rediss://, or several with commas between them';

/**
 * The process cannot start, and whoever started it can do something about it. The message is one
 * clear sentence, or a list of them, that says what to do, and holds no secret.
 */
export class StartError extends Error {
  override name = 'StartError';
}

/** One or more variables of the environment are missing or wrong; the message names them all. */
export class ConfigError extends StartError {
  override name = 'ConfigError';
  readonly variables: readonly string[];

  constructor(faults: readonly { variable: string; sentence: string }[]) {
    const sentences = faults.map((fault) => fault.sentence);
    super(
      sentences.length === 1
        ? sentences.join('')
        : `${sentences.length} settings are wrong:\n${sentences.map((s) => `  - ${s}`).join('\n')}`,
    );
    this.variables = faults.map((fault) => fault.variable);
  }
}

/**
 * What a variable's schema may say besides JSON Schema: `description` (what it is, as the subject
 * of a sentence), `default`, `examples`, and `secret: true` for values never to be shown.
 */
interface Setting {
  type?: string;
  description?: string;
  default?: unknown;
  examples?: unknown;
  secret?: boolean;
  anyOf?: Setting[];
  const?: unknown;
  enum?: unknown[];
}

/**
 * The configuration that a flat object schema describes, read from environment variables of the
 * same names. Numbers, booleans (`true/false`, `1/0`, `yes/no`, `on/off`) and lists (separated by
 * commas) are read from their text; a blank variable counts as absent; absent ones get their
 * default. Variables that the schema does not name are ignored.
 *
 * Throws a ConfigError with one sentence for every bad variable: what it is, what is wrong and an
 * example. Values of texts are never in it, as they may be secrets.
 */
export function readConfig<T extends TObject>(
  schema: T,
  env: Readonly<Record<string, string | undefined>>,
): Static<T> {
  const required = new Set<string>(schema.required ?? []);
  const faults: { variable: string; sentence: string }[] = [];
  const config: Record<string, unknown> = {};
  for (const [variable, property] of Object.entries(schema.properties)) {
    const setting: Setting = property;
    const text = env[variable]?.trim();
    const value = text ? read(text, setting) : structuredClone(setting.default);
    if (value === undefined) {
      if (required.has(variable))
        faults.push({ variable, sentence: sentence(variable, setting, 'is not set') });
      continue;
    }
    const wrong = whatIsWrong(property, setting, value);
    if (wrong === null) config[variable] = value;
    else faults.push({ variable, sentence: sentence(variable, setting, wrong) });
  }
  if (faults.length > 0) throw new ConfigError(faults);
  return config as Static<T>;
}

const TRUE = new Set(['true', '1', 'yes', 'on']);
const FALSE = new Set(['false', '0', 'no', 'off']);

/** The value a text stands for; the text itself if it cannot be read, for the check to refuse. */
function read(text: string, setting: Setting): unknown {
  switch (setting.type) {
    case 'integer':
    case 'number':
      return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
    case 'boolean':
      if (TRUE.has(text.toLowerCase())) return true;
      return FALSE.has(text.toLowerCase()) ? false : text;
    case 'array':
      return text.split(',').flatMap((item) => item.trim() || []);
    default:
      return text;
  }
}

function whatIsWrong(schema: TSchema, setting: Setting, value: unknown): string | null {
  const errors = Value.Errors(schema, value);
  const first = errors[0];
  if (first === undefined) return null;
  const choices = choicesOf(setting);
  if (choices.length > 0) return `must be one of ${choices.join(', ')}${shown(setting, value)}`;
  return `${first.message}${shown(setting, value)}`;
}

function choicesOf(setting: Setting): string[] {
  const choices = setting.enum ?? setting.anyOf?.map((option) => option.const) ?? [];
  return choices.every((choice) => choice !== undefined) ? choices.map(String) : [];
}

/** The offending value, if it was meant to be a number, a boolean or one of a few words. */
function shown(setting: Setting, value: unknown): string {
  const mayBeSecret =
    setting.secret === true || ['string', 'array', undefined].includes(setting.type);
  const isChoice = choicesOf(setting).length > 0;
  return mayBeSecret && !(isChoice && setting.secret !== true)
    ? ''
    : `, not ${JSON.stringify(value)}`;
}

function sentence(variable: string, setting: Setting, wrong: string): string {
  const what = setting.description ? ` (${setting.description.replace(/\.$/, '')})` : '';
  const example = exampleOf(setting);
  return `${variable}${what} ${wrong}${example === null ? '' : `; for example ${variable}=${example}`}.`;
}

function exampleOf(setting: Setting): string | null {
  const examples: unknown[] = Array.isArray(setting.examples) ? setting.examples : [];
  const example = examples[0] ?? setting.default ?? choicesOf(setting)[0];
  if (Array.isArray(example)) return example.length > 0 ? example.join(',') : null;
  return typeof example === 'string' || typeof example === 'number' || typeof example === 'boolean'
    ? String(example) || null
    : null;
}

/** The schema of a variable that holds a URL with one of these protocols (`redis:`, …). */
export function urlSetting(
  protocols: readonly string[],
  options: { description: string; examples: string[]; default?: string },
) {
  return Type.Refine(
    Type.String({ ...options, secret: true }),
    (value) => URL.canParse(value) && protocols.includes(new URL(value).protocol),
    () => `must be a URL that starts with ${protocols.map((p) => `${p}//`).join(' or ')}`,
  );
}

/** `REDIS_URL`: where Redis is. */
export const redisUrlSetting = () => {
  let wrong = '';
  return Type.Refine(
    Type.String({
      description: 'where Redis is; of a Cluster, some nodes with commas between them',
      examples: ['redis://127.0.0.1:6379'],
      secret: true,
    }),
    (value) => {
      try {
        readRedisAddress(value);
        return true;
      } catch (error) {
        wrong = error instanceof Error ? error.message : '';
        return false;
      }
    },
    () => wrong,
  );
};

/** `REDIS_CLUSTER`: whether one URL is that of a node of a Cluster. */
export const redisClusterSetting = () =>
  Type.Boolean({
    description: 'whether Redis is a Cluster though REDIS_URL names one node of it',
    default: false,
  });

/** `DATABASE_URL`: where Postgres is. */
export const databaseUrlSetting = () =>
  urlSetting(['postgresql:', 'postgres:'], {
    description: 'where Postgres is',
    examples: ['postgresql://leadgate@127.0.0.1:5432/leadgate'],
  });

/** `LOG_LEVEL`: the least severe lines that are written. */
export const logLevelSetting = () =>
  Type.Union(
    [
      Type.Literal('fatal'),
      Type.Literal('error'),
      Type.Literal('warn'),
      Type.Literal('info'),
      Type.Literal('debug'),
      Type.Literal('trace'),
      Type.Literal('silent'),
    ],
    { description: 'the least severe lines of the log', default: 'info' },
  );

/** A TCP port to listen on; 0: any free one. */
export const portSetting = (description: string, port: number) =>
  Type.Integer({ description, default: port, minimum: 0, maximum: 65_535 });

/**
 * Ends a process that could not start, with status 1: a StartError or a taken port in one sentence
 * on the standard error output, anything else with its stack, as that is a bug.
 */
export function failStart(error: unknown): never {
  process.stderr.write(`${reasonNotToStart(error)}\n`);
  process.exit(1);
}

/** What to tell whoever started the process. */
export function reasonNotToStart(error: unknown): string {
  if (error instanceof StartError) return error.message;
  if (error instanceof Error && 'port' in error && 'code' in error) {
    const port = String(error.port);
    if (error.code === 'EADDRINUSE')
      return `Port ${port} is taken: stop what listens there, or choose another port.`;
    if (error.code === 'EACCES')
      return `Port ${port} is not allowed for this user: choose one above 1023.`;
  }
  const { message, stack } = errorFacts(error);
  return stack ?? message;
}
