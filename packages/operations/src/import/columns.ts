import {
  ADDRESS_FIELDS,
  ATTRIBUTION_FIELDS,
  CLICK_IDS,
  LEAD_FIELDS,
  UTM_FIELDS,
  type CustomField,
} from '@leadgate/contract';
import { customFieldKey, normalized, wholeName } from '@leadgate/leads';
import { REASON_COLUMN } from './csv.ts';

/** Where the values of a column go. */
export type Target =
  /** A field of a posted body: `email`, `address.city`, `customFields.plan`; or a part of the name. */
  | { kind: 'field'; path: string; part?: 'first' | 'last'; isDate?: boolean }
  /** The time the row's facts are from. */
  | { kind: 'time' }
  | { kind: 'ignored' };

/** Names that files of other systems use, folded as `fold` does it. */
const SYNONYMS: Record<string, string> = {
  mail: 'email',
  correo: 'email',
  correoelectronico: 'email',
  emailprincipal: 'email',
  nombre: 'name',
  nombrecompleto: 'name',
  nombreyapellido: 'name',
  nombreyapellidos: 'name',
  telefono: 'telephone',
  telefonomovil: 'telephone',
  telefonocelular: 'telephone',
  telefonecomddd: 'telephone',
  celularcomddd: 'telephone',
  whatsappcomddd: 'telephone',
  celularwhatsapp: 'telephone',
  telefonewhatsapp: 'telephone',
  movil: 'telephone',
  fone: 'telephone',
  tel: 'telephone',
  cell: 'telephone',
  cellphone: 'telephone',
  fechadenacimiento: 'birthday',
  ciudad: 'city',
  provincia: 'state',
  direccion: 'address.street',
  street: 'address.street',
  zip: 'address.zipCode',
  country: 'address.country',
  emailaddress: 'email',
  nome: 'name',
  nomecompleto: 'name',
  fullname: 'name',
  telefone: 'telephone',
  celular: 'telephone',
  whatsapp: 'telephone',
  phone: 'telephone',
  phonenumber: 'telephone',
  mobile: 'telephone',
  mobilephone: 'telephone',
  mobilephonenumber: 'telephone',
  telefonecelular: 'telephone',
  numerodetelefone: 'telephone',
  numerodewhatsapp: 'telephone',
  whatsappnumber: 'telephone',
  useremail: 'email',
  workemail: 'email',
  enderecodeemail: 'email',
  userphone: 'telephone',
  documento: 'document',
  cpf: 'document',
  cnpj: 'document',
  cpfcnpj: 'document',
  profissao: 'profession',
  jobtitle: 'profession',
  cargo: 'profession',
  cidade: 'city',
  estado: 'state',
  uf: 'state',
  stateregion: 'state',
  estadoregiao: 'state',
  nascimento: 'birthday',
  datadenascimento: 'birthday',
  dateofbirth: 'birthday',
  endereco: 'address.street',
  rua: 'address.street',
  logradouro: 'address.street',
  numero: 'address.number',
  complemento: 'address.complement',
  bairro: 'address.neighborhood',
  cep: 'address.zipCode',
  postalcode: 'address.zipCode',
  zippostalcode: 'address.zipCode',
  codigopostal: 'address.zipCode',
  streetaddress: 'address.street',
  countryregion: 'address.country',
  pais: 'address.country',
};

/** A name in two columns, as LinkedIn and HubSpot write it. */
const NAME_PARTS: Record<string, 'first' | 'last'> = {
  firstname: 'first',
  givenname: 'first',
  primeironome: 'first',
  primernombre: 'first',
  lastname: 'last',
  surname: 'last',
  familyname: 'last',
  sobrenome: 'last',
  ultimonome: 'last',
  apellido: 'last',
  apellidos: 'last',
};

const STANDARD_PATHS = [
  ...LEAD_FIELDS,
  'externalId',
  ...UTM_FIELDS,
  ...ADDRESS_FIELDS.map((field) => `address.${field}`),
  ...ATTRIBUTION_FIELDS.map((field) => `attribution.${field}`),
];

/** Where a column can go besides custom fields, as an operator writes it. */
export const TARGETS: readonly string[] = [...STANDARD_PATHS, 'time'];

const BY_FOLDED_NAME = new Map([
  ...Object.entries(SYNONYMS),
  ...CLICK_IDS.map((id) => [fold(id), `attribution.${id}`] as const),
  ...STANDARD_PATHS.map((path) => [fold(path), path] as const),
]);

export interface MappingRules {
  fields: readonly CustomField[];
  /** Targets by column, as an operator says: a path, `time`, or `-` to ignore it. */
  map?: Readonly<Record<string, string>>;
  timeColumn?: string;
}

/**
 * Columns of the forms of Meta's lead ads, as their exports name them. What was asked besides stands
 * under the question.
 */
const META_COLUMNS = new Map([
  ['id', 'externalId'],
  ['created_time', 'time'],
  ['campaign_name', 'utmCampaign'],
  ['adset_name', 'utmTerm'],
  ['ad_name', 'utmContent'],
  ['platform', 'utmSource'],
  ['post_code', 'address.zipCode'],
  ['street_address', 'address.street'],
  ['job_title', 'profession'],
]);

/** Whether a head is that of an export of Meta's lead ads. */
export function isMetaExport(columns: readonly string[]): boolean {
  return ['id', 'created_time', 'ad_id', 'form_id'].every((name) => columns.includes(name));
}

/** Columns of the lead forms of Google Ads: the id is what its webhook calls `lead_id`. */
const GOOGLE_COLUMNS = new Map([
  ['Lead ID', 'externalId'],
  ['lead_id', 'externalId'],
]);

/** What the columns of a platform's export are that say something else elsewhere, by its head. */
export function columnsOfPlatform(columns: readonly string[]): ReadonlyMap<string, string> {
  if (isMetaExport(columns)) return META_COLUMNS;
  const isGoogle = columns.some((name) => ['gclid', 'gcl_id'].includes(name.toLowerCase()));
  return isGoogle ? GOOGLE_COLUMNS : new Map();
}

/** Before what Meta exports: a lead, a telephone, a postal code. */
const META_PREFIX = /^[lpz]:/;
const META_DUMMY = /<test lead: dummy data/i;

/** Whether a row is one that Meta's own tool for testing forms sent. */
export function isMetaTest(values: readonly (readonly [string, unknown])[]): boolean {
  return values.some(([, value]) => typeof value === 'string' && META_DUMMY.test(value));
}

/**
 * The target of a column: what the operator says; else a standard field or a custom field of this
 * name, case, accents and punctuation aside, or the label of a custom field. Others are ignored.
 */
export function targetOf(
  column: string,
  rules: MappingRules,
  platform: ReadonlyMap<string, string>,
): Target {
  const target = plainTargetOf(column, rules, platform);
  if (target.kind !== 'field') return target;
  const isDate =
    target.path === 'birthday' ||
    (target.path.startsWith('customFields.') &&
      customField(target.path.slice('customFields.'.length), rules.fields)?.type === 'date');
  return isDate ? { ...target, isDate } : target;
}

function plainTargetOf(
  column: string,
  { fields, map = {}, timeColumn }: MappingRules,
  platform: ReadonlyMap<string, string>,
): Target {
  if (Object.hasOwn(map, column)) return saidTarget(map[column] ?? '-', fields);
  if (column === timeColumn) return { kind: 'time' };
  if (column === REASON_COLUMN) return { kind: 'ignored' };
  const known = platform.get(column);
  if (known === 'time' && timeColumn !== undefined) return { kind: 'ignored' };
  if (known !== undefined) return saidTarget(known, fields);
  const folded = fold(column);
  const standard = BY_FOLDED_NAME.get(folded);
  if (standard !== undefined) return { kind: 'field', path: standard };
  const part = Object.hasOwn(NAME_PARTS, folded) ? NAME_PARTS[folded] : undefined;
  if (part !== undefined && customTarget(column, fields) === null)
    return { kind: 'field', path: 'name', part };
  const inner = /^customFields(?:\.(.+)|\[(.+)\])$/.exec(column);
  const name = inner?.[1] ?? inner?.[2];
  if (name !== undefined) return { kind: 'field', path: `customFields.${name}` };
  return customTarget(column, fields) ?? { kind: 'ignored' };
}

/** A path of a posted body as an operator writes it; null if there is no such field. */
function isPath(path: string): boolean {
  return STANDARD_PATHS.includes(path) || /^customFields\..+/.test(path);
}

function saidTarget(said: string, fields: readonly CustomField[]): Target {
  if (said === '-') return { kind: 'ignored' };
  if (said === 'time') return { kind: 'time' };
  if (isPath(said)) return { kind: 'field', path: said };
  const standard = BY_FOLDED_NAME.get(fold(said));
  if (standard !== undefined) return { kind: 'field', path: standard };
  return customTarget(said, fields) ?? { kind: 'field', path: `customFields.${said}` };
}

function customTarget(text: string, fields: readonly CustomField[]): Target | null {
  const found = customField(text, fields);
  return found === undefined ? null : { kind: 'field', path: `customFields.${text}` };
}

function customField(text: string, fields: readonly CustomField[]): CustomField | undefined {
  const index = BY_NAME.get(fields) ?? indexOf(fields);
  BY_NAME.set(fields, index);
  return index.get(text) ?? index.get(customFieldKey(text));
}

/** Fields by their ids, and the keys of their names and labels: a file may name thousands of columns. */
const BY_NAME = new WeakMap<readonly CustomField[], ReadonlyMap<string, CustomField>>();

function indexOf(fields: readonly CustomField[]): ReadonlyMap<string, CustomField> {
  const index = new Map<string, CustomField>();
  for (const field of fields.filter(({ archived }) => !archived))
    for (const name of [field.id, customFieldKey(field.name), customFieldKey(field.label)])
      if (!index.has(name)) index.set(name, field);
  return index;
}

function fold(text: string): string {
  return normalized(text, 'NFD')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}.]/gu, '');
}

/**
 * What becomes of each column, in words: the first of several columns for one field that is not blank
 * stands.
 */
export function describeColumns(
  columns: readonly { name: string; target: Target }[],
): { name: string; target: Target; goes: string }[] {
  const taken = new Set<string>();
  return columns.map(({ name, target }) => {
    if (target.kind !== 'field') return { name, target, goes: `(${target.kind})` };
    const { path, part } = target;
    if (part !== undefined) return { name, target, goes: `${path}, ${part} part` };
    const goes = taken.has(path) ? `${path}, if still blank` : path;
    taken.add(path);
    return { name, target, goes };
  });
}

/** A row as a body that could have been posted. */
interface MappedRow {
  body: Record<string, unknown>;
  /** As it stands in the row, and in which column. */
  time: { column: string; value: unknown } | null;
}

/** Keys under which a row of JSON may hold a whole object, as a posted body does. */
const OBJECTS = new Set(['address', 'customFields', 'consent']);

/** How the values of a file are read. */
interface ValueRules {
  target: (column: string) => Target;
  /** The custom fields, if values stand as an export of ours writes them. */
  typed: readonly CustomField[] | null;
  /** An export of Meta's lead ads. */
  isMeta: boolean;
  /** A date of a column as YYYY-MM-DD, or what is none as it is. */
  day: (column: string, path: string, value: unknown) => unknown;
}

/** Puts the values of a row where they go; blank ones say nothing. */
export function mapRow(
  values: readonly (readonly [column: string, value: unknown])[],
  { target, typed, isMeta, day }: ValueRules,
): MappedRow {
  const body = new Map<string, unknown>();
  // In place: a row may have thousands of custom fields.
  const objects = new Map<string, Map<string, unknown>>();
  const parts: { first?: string; last?: string } = {};
  let time: MappedRow['time'] = null;
  for (const [column, value] of values) {
    if (isBlank(value)) continue;
    if (OBJECTS.has(column) && typeof value === 'object') {
      const object = objectOf(objects, column);
      for (const [key, inner] of Object.entries(value as object)) object.set(key, inner);
      continue;
    }
    const to = target(column);
    if (to.kind === 'time') time ??= { column, value };
    if (to.kind !== 'field') continue;
    const bare = isMeta && typeof value === 'string' ? value.replace(META_PREFIX, '') : value;
    const plain = to.isDate === true ? day(column, to.path, bare) : bare;
    if (to.part !== undefined && typeof plain === 'string') parts[to.part] ??= plain.trim();
    else {
      const [name, inner] = partsOf(to.path);
      const [into, key] = inner === null ? [body, name] : [objectOf(objects, name), inner];
      // The first of several columns for one field that says something stands.
      if (!into.has(key)) into.set(key, asWritten(to.path, sent(to.path, plain), typed));
    }
  }
  const name = wholeName(body.get('name'), parts);
  if (name !== undefined) body.set('name', name);
  for (const [key, object] of objects) body.set(key, Object.fromEntries(object));
  return { body: Object.fromEntries(body), time };
}

/** No standard field is a number with a fraction: it is a text that looks like one. */
function sent(path: string, value: unknown): unknown {
  const isFraction = typeof value === 'number' && !Number.isInteger(value);
  return isFraction && !path.startsWith('customFields.') ? String(value) : value;
}

/** What programs and spreadsheets write for nothing. */
const BLANKS = new Set([
  ...['\\N', 'NULL', 'null', '(null)', '[NULL]', '<null>', 'nan', 'NaN', '<NA>', 'NaT', 'None'],
  ...['nil', 'undefined', 'N/A', 'n/a', 'N/D', 'n/d', '#ERROR!', '#NUM!', '#NÚM!'],
  ...['#¡REF!', '#¡VALOR!', '#¡DIV/0!', '#¡NUM!', '#¡NULO!', '#¿NOMBRE?', '#NOMBRE?'],
  ...[
    '#N/A',
    '#N/D',
    '#NULL!',
    '#NULO!',
    '#REF!',
    '#VALUE!',
    '#VALOR!',
    '#DIV/0!',
    '#NAME?',
    '#NOME?',
  ],
]);

function isBlank(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  if (typeof value !== 'string') return false;
  const text = value.trim();
  return text === '' || BLANKS.has(text);
}

/** A custom field's cell of an export: `leadsAsCsv` wrote it. */
function asWritten(path: string, value: unknown, fields: readonly CustomField[] | null): unknown {
  if (typeof value !== 'string' || !path.startsWith('customFields.')) return value;
  const name = path.slice('customFields.'.length);
  switch (fields?.find((field) => field.name === name)?.type) {
    case 'number':
      return Number.isFinite(Number(value)) ? Number(value) : value;
    case 'boolean':
      return value === 'true' || value === 'false' ? value === 'true' : value;
    case 'multi-select':
      return itemsOf(value);
    default:
      return value;
  }
}

/** The options of a multi-select as one cell: `a; b`, or a JSON array if that would be unclear. */
export function cellOfItems(items: readonly string[]): string {
  const isUnclear = items.some((item) => item.includes(';') || item.startsWith('['));
  return isUnclear ? JSON.stringify(items) : items.join('; ');
}

function itemsOf(cell: string): string[] {
  if (cell.startsWith('['))
    try {
      const items: unknown = JSON.parse(cell);
      if (Array.isArray(items)) return items.map(String);
    } catch {
      // An option that begins with a bracket.
    }
  return cell.split(';').map((item) => item.trim());
}

/** `address.city` as the object and its key; what stands by itself has none. */
function partsOf(path: string): [name: string, inner: string | null] {
  const dot = path.indexOf('.');
  return dot === -1 ? [path, null] : [path.slice(0, dot), path.slice(dot + 1)];
}

function objectOf(objects: Map<string, Map<string, unknown>>, name: string): Map<string, unknown> {
  const found = objects.get(name) ?? new Map<string, unknown>();
  objects.set(name, found);
  return found;
}
