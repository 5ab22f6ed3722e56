import { addressOf, type Asked } from './asked.ts';
import type { components, paths } from './generated/api.ts';

export type Problem = components['schemas']['Problem'];

type Method = 'get' | 'post' | 'patch' | 'delete';
export type Path<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, object> ? P : never;
}[keyof paths];

/** What an address of the API answers when all is well. */
export type Answer<P extends keyof paths, M extends Method> =
  paths[P] extends Record<M, { responses: infer R }>
    ? {
        [S in keyof R]: S extends 200 | 201 | 202
          ? R[S] extends { content: infer C }
            ? C[keyof C]
            : never
          : never;
      }[keyof R]
    : never;

/** The body that an address of the API takes. */
export type Body<P extends keyof paths, M extends Method> =
  paths[P] extends Record<M, { requestBody?: never }>
    ? never
    : paths[P] extends Record<M, { requestBody?: { content: { 'application/json': infer B } } }>
      ? B
      : never;

export type Input<P extends keyof paths, M extends Method> =
  paths[P] extends Record<M, { parameters: infer A }>
    ? Pick<A, keyof A & ('path' | 'query')> &
        (paths[P] extends Record<M, { requestBody: object }>
          ? { body: Body<P, M> }
          : { body?: Body<P, M> })
    : never;

type Ask<M extends Method> = <P extends Path<M>>(
  address: P,
  ...input: object extends Input<P, M> ? [input?: Input<P, M>] : [input: Input<P, M>]
) => Promise<Answer<P, M>>;

/** The console's API, typed by its OpenAPI document: what it answers. Throws an ApiProblem for a refusal. */
export const api: { [M in Method]: Ask<M> } = {
  get: (address, ...input) => ask('GET', address, ...input),
  post: (address, ...input) => ask('POST', address, ...input),
  patch: (address, ...input) => ask('PATCH', address, ...input),
  delete: (address, ...input) => ask('DELETE', address, ...input),
};

export async function ask<T>(
  method: string,
  address: string,
  { path = {}, query = {}, body }: { path?: object; query?: object; body?: unknown } = {},
): Promise<T> {
  const names = new Map(Object.entries(path));
  const named = address.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(names.get(name))),
  );
  const url = addressOf(named, query);
  const text = body === undefined ? '' : JSON.stringify(body);
  const own = method === 'GET' || method === 'POST' ? begun(url, text) : undefined;
  const answer = await accepted(own ?? fetch(url, requestOf(method, text)));
  return (answer.status === 204 ? undefined : await answer.json()) as T;
}

const requestOf = (method: string, text: string): RequestInit =>
  text === ''
    ? { method }
    : { method, body: text, headers: { 'content-type': 'application/json' } };

/** The answer to what the page itself asked for already (ahead.ts), by GET or with a body; each is taken once. */
const begun = (url: string, body: string): Promise<Response> | undefined => {
  const at = leadgate.begun.findIndex((one) => one.url === url && one.body === body);
  return at < 0 ? undefined : leadgate.begun.splice(at, 1)[0]?.answer;
};

/** What came of what the page itself asked for, if all of it is there: it is drawn at once then. Each is taken once. */
export function answered<T>(...asked: readonly Asked[]): T[] | undefined {
  const all = asked.flatMap(({ url, body }) =>
    leadgate.begun.filter((one) => one.url === url && one.body === body && one.data !== undefined),
  );
  if (all.length < asked.length) return undefined;
  leadgate.begun = leadgate.begun.filter((one) => !all.includes(one));
  return all.map(({ data }) => data as T);
}

/** An answer that is no success: what the API says of it. */
export class ApiProblem extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail ?? problem.title);
    this.problem = problem;
  }
}

/** An answer if it is a success; else throws an ApiProblem. Whoever is no longer signed in is led to the sign-in page. */
export async function accepted(answer: Promise<Response>): Promise<Response> {
  const response = await answer;
  if (response.ok) return response;
  if (response.status === 401) location.assign('/sign-in');
  const { status, statusText: title } = response;
  const unknown: Problem = { type: 'about:blank', title, status, code: 'internal' };
  throw new ApiProblem((await response.json().catch(() => unknown)) as Problem);
}

/** What the API says of each member, by the beginning of its pointer. */
export function faultsOf(error: unknown): (pointer: string) => string | undefined {
  const errors = error instanceof ApiProblem ? (error.problem.errors ?? []) : [];
  return (pointer) =>
    errors
      .filter((one) => one.pointer === pointer || one.pointer.startsWith(`${pointer}/`))
      .map(({ detail }) => detail)
      .join(' ') || undefined;
}
