import {
  ADDRESS_FIELDS,
  ATTRIBUTION_FIELDS,
  LEAD_FIELDS,
  reaches,
  type Role,
  UTM_FIELDS,
} from '@leadgate/contract';

const HIDDEN = '•••';

/**
 * The keys whose values a viewer sees: ids, times, kinds and what operators wrote themselves.
 * Whatever is not named here may be about a person and is masked, what comes later included.
 */
const SHOWN = new Set(
  [
    'leadId lead_id id workspaceId workspace workspaceName submissionId linkId linkLabel jobId queueName leads',
    'createdAt updatedAt acceptedAt at since appliedAt order stamp timestamp createdBy reservedFor',
    'answeredLeadId owner requestId source stands kind code mode state bodyType type label archived',
    'action language aliases erased submissions total attempts attempt reason status',
    'heldId decidedAt rejectedId bytes mendedAt replayedAt failedAt oldest newest jobs replay next pair',
  ].flatMap((line) => line.split(' ')),
);

/** Keys whose own keys were written by a sender. */
const FOREIGN_KEYS = new Set(['customFields']);

const OWN_FIELDS = new Set<string>([
  ...[...LEAD_FIELDS, ...ADDRESS_FIELDS, ...UTM_FIELDS],
  ...['', 'address', 'consent', 'customFields', 'attribution'],
]);

/** JSON pointers and field paths: the first step is a field of ours, the rest may be a sender's. */
const PATHS = new Set(['field', 'pointer']);

/**
 * What somebody of this role sees: a viewer everything masked; others one person or post as it is, and a
 * list of them with telephones and documents masked.
 */
export function shownTo<T>(role: Role | null, value: T, as: 'whole' | 'list'): T {
  if (!reaches(role, 'operator')) return mask(value);
  return as === 'list' ? maskNumbers(value) : value;
}

/**
 * A JSON value with what may be about a person masked. The shape stays, so that what is there and
 * what is not can be seen: of a text the first letter, of a telephone the last two digits.
 */
export function mask<T>(value: T): T {
  return maskValue(value, '') as T;
}

function maskValue(value: unknown, key: string): unknown {
  if (value === null || value === undefined) return value;
  if (value instanceof Date) return SHOWN.has(key) ? value : HIDDEN;
  if (Array.isArray(value)) return value.map((item) => maskValue(item, key));
  if (typeof value === 'object') return maskObject(value, key);
  if (SHOWN.has(key)) return value;
  if (PATHS.has(key) && typeof value === 'string') return firstStep(value);
  return typeof value === 'string' ? maskText(key, value) : HIDDEN;
}

function maskObject(value: object, key: string): object {
  return Object.fromEntries(
    Object.entries(value).map(([name, item], at) => [
      FOREIGN_KEYS.has(key) ? `${HIDDEN}${at + 1}` : name,
      maskValue(item, FOREIGN_KEYS.has(key) ? '' : name),
    ]),
  );
}

function maskText(key: string, text: string): string {
  if (text === '') return text;
  if (key === 'telephone') return HIDDEN + text.slice(-2);
  if (key === 'email' || key === 'name') return ([...text][0] ?? '') + HIDDEN;
  return HIDDEN;
}

/** The field of ours that a path begins with; what follows, or a key that a sender chose, is hidden. */
function firstStep(pointer: string): string {
  const [first = '', ...rest] = pointer.replace(/^\//, '').split('/');
  if (!OWN_FIELDS.has(first)) return HIDDEN;
  return rest.length === 0 ? pointer : `/${first}/${HIDDEN}`;
}

/** Numbers that campaigns and clicks are called by are as long as a telephone. */
const CAMPAIGN_KEYS = new Set<string>([...UTM_FIELDS, ...ATTRIBUTION_FIELDS]);
for (const url of ['landingPage', 'referrer']) CAMPAIGN_KEYS.delete(url);

/** An id of ours, or ten digits and more as a person writes them: a telephone, a CPF, a CNPJ. */
const NUMBERS = /([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})|\+?\(?\d(?:[\s()./-]*\d){9,}/gi;

/**
 * A JSON value with telephones and documents masked, wherever they stand: the last four digits of a
 * telephone are left, the last two of any other number. A body as it was sent is left out.
 */
export function maskNumbers<T>(value: T): T {
  return numbersMasked(value, '') as T;
}

function numbersMasked(value: unknown, key: string): unknown {
  if (Array.isArray(value)) return value.map((item) => numbersMasked(item, key));
  if (typeof value === 'object' && value !== null && !(value instanceof Date))
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, numbersMasked(item, name)]),
    );
  if (SHOWN.has(key) || CAMPAIGN_KEYS.has(key)) return value;
  if (typeof value === 'number') return value < 1e9 ? value : lastOf(String(value), 2);
  if (typeof value !== 'string' || value === '') return value;
  if (key === 'telephone' || key === 'telephoneE164') return lastOf(value, 4);
  if (key === 'document') return lastOf(value, 2);
  if (key === 'body') return HIDDEN;
  return value.replace(NUMBERS, (found, id?: string) => id ?? lastOf(found, 2));
}

const lastOf = (text: string, digits: number): string => HIDDEN + text.slice(-digits);
