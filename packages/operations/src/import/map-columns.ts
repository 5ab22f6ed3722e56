import { ADDRESS_FIELDS, LEAD_FIELDS, UTM_FIELDS, type CustomField } from '@leadgate/contract';
import { customFieldKey } from '@leadgate/leads';

/** Where the values of a column go. */
export type Target =
  /** A field of a posted body: `email`, `address.city`, `customFields.plan`. */
  | { kind: 'field'; path: string }
  /** The time the row's facts are from. */
  | { kind: 'time' }
  | { kind: 'ignored' };

/** Names that files of other systems use, folded as `fold` does it. */
const SYNONYMS: Record<string, string> = {
  mail: 'email',
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
  documento: 'document',
  cpf: 'document',
  cnpj: 'document',
  cpfcnpj: 'document',
  profissao: 'profession',
  cidade: 'city',
  estado: 'state',
  uf: 'state',
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
  pais: 'address.country',
};

/** What an import's own report adds. */
export const REASON_COLUMN = 'leadgate_reason';

const STANDARD_PATHS = [
  ...LEAD_FIELDS,
  ...UTM_FIELDS,
  ...ADDRESS_FIELDS.map((field) => `address.${field}`),
];
const BY_FOLDED_NAME = new Map([
  ...Object.entries(SYNONYMS),
  ...STANDARD_PATHS.map((path) => [fold(path), path] as const),
]);

export interface MappingRules {
  fields: readonly CustomField[];
  /** Targets by column, as an operator says: a path, `time`, or `-` to ignore it. */
  map?: Readonly<Record<string, string>>;
  timeColumn?: string;
}

/**
 * The target of a column: what the operator says; else a standard field or a custom field of this
 * name, case, accents and punctuation aside, or the label of a custom field. Others are ignored.
 */
export function targetOf(column: string, { fields, map = {}, timeColumn }: MappingRules): Target {
  if (Object.hasOwn(map, column)) return saidTarget(map[column] ?? '-', fields);
  if (column === timeColumn) return { kind: 'time' };
  if (column === REASON_COLUMN) return { kind: 'ignored' };
  const standard = BY_FOLDED_NAME.get(fold(column));
  if (standard !== undefined) return { kind: 'field', path: standard };
  const inner = /^customFields(?:\.(.+)|\[(.+)\])$/.exec(column);
  const name = inner?.[1] ?? inner?.[2];
  if (name !== undefined) return { kind: 'field', path: `customFields.${name}` };
  return customTarget(column, fields) ?? { kind: 'ignored' };
}

/** A path of a posted body as an operator writes it; null where there is no such field. */
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
  const key = customFieldKey(text);
  const found = fields.find(
    ({ id, name, label, archived }) =>
      !archived && (id === text || customFieldKey(name) === key || customFieldKey(label) === key),
  );
  return found === undefined ? null : { kind: 'field', path: `customFields.${text}` };
}

function fold(text: string): string {
  return text
    .normalize('NFD')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}.]/gu, '');
}
