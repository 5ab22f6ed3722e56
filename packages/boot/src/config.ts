import type { Static, TObject, TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { StartError } from './start-error.ts';

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
