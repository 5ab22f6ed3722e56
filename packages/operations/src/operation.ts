import type { Keyring, RedisConnection } from '@leadgate/boot';
import type { Access, FieldError, Role } from '@leadgate/contract';
import type { Intake, Reserver } from '@leadgate/intake';
import type { FailedJobs, Producer } from '@leadgate/queue';
import type { AuditActor, Store } from '@leadgate/store';
import { type Static, type TObject, type TSchema, Type } from 'typebox';
import type { Runner } from './runs.ts';

/** The output of an operation that answers nothing. */
export const NOTHING = Type.Null();

/** The servers that operations work on. Each is connected to when it is first asked for. */
export interface Connections {
  readonly store: Store;
  redis: () => Promise<RedisConnection>;
  failed: () => Promise<FailedJobs>;
  /** What submissions are reserved and enqueued with. */
  intake: () => Promise<{
    reserver: Pick<Reserver, 'reserve'>;
    producer: Pick<Producer, 'enqueue' | 'replay' | 'counts'>;
  }>;
  /** Does what takes long, in this process. */
  runner: Runner;
  /** What secrets are encrypted under; null: not known here. */
  keyring: () => Promise<Keyring | null>;
  /** The file where erasures are written down; null: nowhere outside of Postgres. */
  erasureLedger: string | null;
  /** What links that withdraw a consent are signed with; null: there are none. */
  consentKey: string | null;
  /** The guard's exceptions. */
  deliveries: () => Promise<DeliverySettings>;
  /** Where senders reach the receiver, without a slash at its end; null if it is not known. */
  receiverUrl: string | null;
}

export interface DeliverySettings {
  allowNetworks: readonly string[];
}

/** Of a person who signed in to the console. */
export interface SignedIn {
  operatorId: string;
  sessionId: string;
  /** Where the console is, as their browser sees it: `https://console.example.com`. */
  origin: string;
}

/** Who asks for an operation, and what they hear of it besides its result. */
export interface Call {
  actor: AuditActor & Access & Partial<SignedIn>;
  /** Of the request, for the audit log; null at a prompt. */
  requestId: string | null;
  /** Ends what takes long. */
  signal: AbortSignal;
  /** Told of what went wrong beside the operation, which succeeds all the same. */
  warn: (sentence: string, error: unknown) => void;
}

export type RefusalCode =
  | 'malformed-request'
  | 'invalid'
  | 'not-allowed'
  | 'not-found'
  | 'conflict'
  | 'erased'
  | 'slowed'
  | 'unavailable';

/** What is said of what was erased, to whoever asks for it by an id that was answered. */
export const Erased = Type.Object(
  {
    leadId: Type.String({ format: 'uuid' }),
    at: Type.String({ format: 'date-time' }),
    reason: Type.String(),
    by: Type.String(),
  },
  { description: 'What was erased, when, why and by whom.' },
);
export type Erased = Static<typeof Erased>;

/** Why an operation did nothing: an expected outcome, in a sentence for people. */
export class Refusal {
  readonly code: RefusalCode;
  readonly detail: string;
  /** What is wrong with the input, if the code is `invalid`. */
  readonly errors: readonly FieldError[] | null;
  /** If the code is `erased`. */
  readonly erasure: Erased | null;

  constructor(
    code: RefusalCode,
    detail: string,
    errors: readonly FieldError[] | null = null,
    erasure: Erased | null = null,
  ) {
    this.code = code;
    this.detail = detail;
    this.errors = errors;
    this.erasure = erasure;
  }
}

/** Refuses an input that is wrong: all that is wrong, at once. */
export function invalid(errors: readonly FieldError[]): Refusal {
  return new Refusal('invalid', errors.map(({ detail }) => detail).join(' '), errors);
}

export const UNKNOWN_WORKSPACE = new Refusal('not-found', 'There is no such workspace.');

/** The refusal of a change that changes nothing. */
export const NOTHING_NAMED = new Refusal('invalid', 'Say what to change.', [
  { pointer: '', code: 'minProperties', detail: 'Say what to change.' },
]);

/** The refusal of what needs secrets to be written or read. */
export const NO_KEY = new Refusal(
  'unavailable',
  'Secrets are encrypted: set SECRETS_KEY here, as the other processes have it.',
);

const REFILLING = 'Redis does not hold all of the workspace yet; a worker fills it by itself.';

/** The refusal of what needs all of a workspace in Redis, while a worker refills it. */
export const refilling = (): Refusal =>
  new Refusal('unavailable', `${REFILLING} Try again in a moment.`);

/** Why a run stops for the same reason. */
export const STOPPED_BY_REFILL = `${REFILLING} Resume it then.`;

/** Members of inputs that lead to a workspace. */
const SCOPES = [
  ...(['workspaceId', 'linkId', 'fieldId', 'leadId', 'submissionId', 'heldId'] as const),
  ...(['rejectedId', 'endpointId', 'jobId', 'runId'] as const),
];

/**
 * The member of an input that leads to the workspace it is about. Null: it is about all of them, and
 * needs a role for all. `own`: anybody who is signed in may ask; it answers what is theirs.
 */
type Scope = 'own' | (typeof SCOPES)[number] | null;

/** An operation, defined once for every door: the console's API and pages, and the command line. */
export interface Operation<I extends TObject = TObject, O = unknown> {
  /** What it is called in the audit log: `link.create`. */
  name: string;
  /** What it is called in the OpenAPI document: `createLink`. */
  id: string;
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Its address under `/api`; members of the input that stand in it are its parameters. */
  path: string;
  summary: string;
  description?: string;
  /** The least role that may do it, in the workspace of its scope. */
  role: Role;
  scope: Scope;
  /**
   * Whether the audit log says that it was done: if it acts, or carries data away. `at-start`: if it begins, and
   * not when it goes on `after` something.
   */
  recorded: boolean | 'at-start';
  /** Members of the input that the audit log keeps beside those of the address: no personal data. */
  subject: readonly string[];
  /** Of what sets: what the audit log says of the change; null: nothing. */
  changes: Changes | null;
  /**
   * Whether its output has personal data, which viewers get masked and whose readers are on record: of one
   * person or post, whole; or a list, in which telephones and documents are masked for everybody.
   */
  personal: false | 'whole' | 'list';
  /** Whether it answers about a lead that was erased; else that is refused. */
  afterErasure: boolean;
  input: I;
  /** Null: it answers a TextFile. */
  output: TSchema | null;
  status: number;
  run(input: Static<I>, connections: Connections, call: Call): Promise<O | Refusal> | O | Refusal;
}

/** How an operation that sets something is put on record: what of its input differs from before. */
export interface Changes {
  /** What is set, before, named as in the input; null: there is no such thing. */
  before: (
    input: Readonly<Record<string, unknown>>,
    connections: Pick<Connections, 'store'>,
  ) => Promise<object | null>;
  /**
   * Members whose values are told, old and new, dotted: no secrets, and nothing about a person. Of the
   * others the name is.
   */
  told: readonly string[];
}

/** A file that is written as it is read. */
export class TextFile {
  readonly name: string;
  readonly type: string;
  readonly texts: AsyncIterable<string>;
  /** How many things were written until now. */
  readonly rows: () => number;

  constructor(name: string, type: string, texts: AsyncIterable<string>, rows: () => number) {
    this.name = name;
    this.type = type;
    this.texts = texts;
    this.rows = rows;
  }
}

type Defaulted =
  'role' | 'scope' | 'recorded' | 'subject' | 'changes' | 'personal' | 'afterErasure' | 'status';

/**
 * Fills in what a definition leaves out: a viewer looks (GET), an operator acts, and is on record. Its scope is
 * the first member of its address that leads to a workspace; null without one.
 */
export function operation<I extends TObject, O>(
  definition: Omit<Operation<I, O>, Defaulted> & Partial<Pick<Operation<I, O>, Defaulted>>,
): Operation<I, O> {
  const looks = definition.method === 'GET';
  const [scope = null] = pathMembers(definition).flatMap((member) =>
    SCOPES.filter((one) => one === member),
  );
  return {
    role: looks ? 'viewer' : 'operator',
    scope,
    recorded: !looks,
    subject: [],
    changes: null,
    personal: false,
    afterErasure: false,
    status: definition.output === NOTHING ? 204 : 200,
    ...definition,
  };
}

/** The members of an input that stand in the address. */
export function pathMembers({ path }: Pick<Operation, 'path'>): string[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
}

/** What an operation works with, opened and closed by whoever asks for it. */
export interface Servers extends Intake {
  store: Store;
}
