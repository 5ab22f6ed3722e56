import createClient from 'openapi-fetch';
import type { components, paths } from './generated/api.ts';

/** The console's API, typed by its OpenAPI document. */
export const api = createClient<paths>({
  baseUrl: location.origin,
  fetch: async (request) => (await begun(request)) ?? fetch(request),
});

/** The answer to what the page itself asked for already; each is taken once. */
async function begun(request: Request): Promise<Response | undefined> {
  const all = leadgate.begun;
  if (all.length === 0) return undefined;
  const body = await request.clone().text();
  const at = all.findIndex((one) => location.origin + one.url === request.url && one.body === body);
  return at < 0 ? undefined : all.splice(at, 1)[0]?.answer;
}

/**
 * What came of what the page itself asked for, if it is there: it is drawn at once then. Each is taken once. `body`: of
 * a POST, as text.
 */
export function answered<T>(url: string, body = ''): T | undefined {
  const all = leadgate.begun;
  const at = all.findIndex((one) => one.url === url && one.body === body && one.data !== undefined);
  return at < 0 ? undefined : (all.splice(at, 1)[0]?.data as T);
}

export type Problem = components['schemas']['Problem'];

type Method = 'get' | 'post' | 'patch' | 'delete';

/** What an address of the API answers when all is well. */
export type Answer<P extends keyof paths, M extends Method> =
  paths[P] extends Record<M, { responses: infer R }>
    ? {
        [S in keyof R]: S extends 200 | 201
          ? R[S] extends { content: infer C }
            ? C[keyof C]
            : never
          : never;
      }[keyof R]
    : never;

/** An answer that is no success: what the API says of it. */
export class ApiProblem extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail ?? problem.title);
    this.problem = problem;
  }

  /** What is wrong with a field of the input, by its JSON pointer. */
  at(pointer: string): string | undefined {
    return this.problem.errors?.find((error) => error.pointer === pointer)?.detail;
  }
}

/**
 * The data of an answer. Throws an ApiProblem for a refusal; whoever is no longer signed in is led to
 * the sign-in page.
 */
export async function dataOf<T>(
  answer: Promise<{ data?: T; error?: Problem | undefined; response: Response }>,
): Promise<T> {
  const { data, error, response } = await answer;
  if (response.ok) return data as T;
  if (response.status === 401) location.assign('/sign-in');
  throw new ApiProblem(
    error ?? {
      type: 'about:blank',
      title: response.statusText,
      status: response.status,
      code: 'internal',
    },
  );
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
