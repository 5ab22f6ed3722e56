import type { FastifyReply } from 'fastify';
import { type FieldError, problem, type ProblemCode } from '@leadgate/contract';
import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { problemKindOf, type Texts, TEXTS } from './texts.ts';

/** What a request came to, for the counts and the log. */
export type Answer = 'accepted' | ProblemCode;

declare module 'fastify' {
  interface FastifyRequest {
    answer: Answer | null;
  }
}

/** How long a sender waits before trying again what could not be stored, in seconds. */
const RETRY_SECONDS = 5;

export interface ProblemDetails {
  errors?: FieldError[];
  retryAfterSeconds?: number;
}

/**
 * Answers with a problem (RFC 9457), its status, and Retry-After if trying again makes sense. Where
 * a form was sent without a script, a person reads it: as a page then.
 */
export function sendProblem(
  reply: FastifyReply,
  code: ProblemCode,
  { errors, retryAfterSeconds }: ProblemDetails = {},
): FastifyReply {
  const body = problem(code, errors && { errors });
  const retryAfter = retryAfterSeconds ?? (body.status === 503 ? RETRY_SECONDS : undefined);
  if (retryAfter !== undefined) reply.header('retry-after', Math.max(1, Math.ceil(retryAfter)));
  const { request } = reply;
  request.answer = code;
  reply.code(body.status);
  if (wantsPage(request.method, request.headers)) return sendProblemPage(reply, code, errors ?? []);
  return reply.type('application/problem+json').send(body);
}

const STYLE = [
  ':root{color-scheme:light dark;font:1.125rem/1.5 system-ui,sans-serif}',
  'body{margin:0;min-height:100vh;display:grid;place-items:center}',
  'main{padding:2rem 1.25rem;max-width:32rem}',
  'h1{font-size:1.75rem;line-height:1.2;margin:0 0 .5rem}',
  'ul{padding-left:1.25rem}p{margin:.75rem 0}',
  'button{font:inherit;padding:.5rem 1rem;min-height:2.75rem}',
].join('');

/** Nothing is loaded or run; the one style is known by its hash. */
const policy = (forms: string): string =>
  [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
    "base-uri 'none'",
    forms,
  ].join('; ');
const POLICY = policy("form-action 'none'");
/** A button that is pressed for somebody who sees another page would be no withdrawal of theirs. */
const BUTTON_POLICY = policy("form-action 'self'; frame-ancestors 'none'");

/** Thanks a visitor whose form went without a script to a link that sends nobody on. */
export function sendThanksPage(reply: FastifyReply): FastifyReply {
  return sendPage(reply, ({ thanks }) => ({
    title: thanks.title,
    body: `<p>${escaped(thanks.text)}</p>`,
  }));
}

/** Tells a visitor what is wrong, and each field that is to be corrected. The status stays. */
function sendProblemPage(
  reply: FastifyReply,
  code: ProblemCode,
  errors: readonly FieldError[],
): FastifyReply {
  const kind = problemKindOf(code);
  return sendPage(reply, (texts) => {
    const fields = errors.map((error) => `<li>${escaped(fieldText(texts, error))}</li>`);
    const list = fields.length === 0 ? '' : `<ul>${fields.join('')}</ul>`;
    const back = kind === 'closed' || kind === 'unknown' ? '' : `<p>${texts.back}</p>`;
    return {
      title: texts.notSent,
      body: `<p>${escaped(texts.problems[kind])}</p>${list}${back}`,
    };
  });
}

/** Asks a person whether they withdraw their consent, or says what became of it. The status stays. */
export function sendConsentPage(reply: FastifyReply, page: keyof Texts['consent']): FastifyReply {
  return sendPage(
    reply,
    ({ consent, withdraw }) => {
      const { title, text } = consent[page];
      const button = `<form method="post"><button>${escaped(withdraw)}</button></form>`;
      const body = `<p>${escaped(text)}</p>${page === 'ask' ? button : ''}`;
      return { title, body };
    },
    BUTTON_POLICY,
  );
}

/** The language of ours that a request likes best. */
export const languageOf = ({ headers }: { headers: IncomingHttpHeaders }): Language =>
  chooseLanguage(headers['accept-language']);

function sendPage(
  reply: FastifyReply,
  write: (texts: Texts) => { title: string; body: string },
  contentPolicy = POLICY,
): FastifyReply {
  const language = languageOf(reply.request);
  const { title, body } = write(TEXTS[language]);
  reply.headers({
    'content-language': language,
    'content-security-policy': contentPolicy,
    'referrer-policy': 'no-referrer',
  });
  return reply
    .type('text/html; charset=utf-8')
    .send(
      `<!doctype html><html lang="${language}"><head><meta charset="utf-8">` +
        '<meta name="viewport" content="width=device-width,initial-scale=1">' +
        `<title>${escaped(title)}</title><style>${STYLE}</style></head>` +
        `<body><main><h1>${escaped(title)}</h1>${body}</main></body></html>`,
    );
}

/** The field by the name that a visitor knows, and what is wrong with it. */
function fieldText(texts: Texts, { pointer, code }: FieldError): string {
  const steps = pointer.split('/').slice(1).map(unescapedStep);
  const last = steps.at(-1) ?? '';
  const isOwn = steps[0] === 'customFields';
  const name =
    (isOwn ? undefined : own(texts.fields, last)) ?? own(texts.fields, steps[0] ?? '') ?? last;
  const wrong = own(texts.errors, code) ?? texts.errors.other;
  return name === '' ? wrong : `${name}: ${wrong}`;
}

const own = (texts: Record<string, string>, key: string): string | undefined =>
  Object.hasOwn(texts, key) ? texts[key] : undefined;

/** One step of a JSON pointer (RFC 6901). */
const unescapedStep = (step: string): string => step.replaceAll('~1', '/').replaceAll('~0', '~');

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');

export const LANGUAGES = ['pt', 'en', 'es'] as const;
export type Language = (typeof LANGUAGES)[number];

/**
 * The language of ours that a visitor likes best by Accept-Language (RFC 9110, 12.5.4), whatever the
 * region; Portuguese if it names none of ours.
 */
function chooseLanguage(header: string | undefined): Language {
  for (const { value } of acceptedValues(header)) {
    const language = LANGUAGES.find((one) => one === value.split('-')[0]);
    if (language !== undefined) return language;
  }
  return 'pt';
}

/**
 * The values of a header of preferences (Accept, Accept-Language; RFC 9110, 12.4.2) with their
 * weights, in lower case, the best liked first; those of weight 0 are not wanted and left out.
 */
function acceptedValues(header: string | undefined): { value: string; weight: number }[] {
  return (header ?? '')
    .toLowerCase()
    .split(',')
    .map((one) => {
      const [value = '', ...parameters] = one.split(';').map((part) => part.trim());
      const q = parameters.find((parameter) => parameter.startsWith('q='));
      const weight = q === undefined ? 1 : Number(q.slice(2));
      return { value, weight: Number.isFinite(weight) ? weight : 0 };
    })
    .filter(({ value, weight }) => value !== '' && weight > 0)
    .toSorted((a, b) => b.weight - a.weight);
}

/**
 * Whether a person looks at the answer to this post: a form that the browser sent by itself. It says
 * that it likes HTML better than JSON, and a form is never JSON. A script that does not say what it
 * likes (any type) gets JSON.
 */
export function wantsPage(method: string, headers: IncomingHttpHeaders): boolean {
  if (method !== 'POST' || /json/i.test(headers['content-type'] ?? '')) return false;
  const accepted = acceptedValues(headers.accept);
  const weightOf = (type: string) => accepted.find(({ value }) => value === type)?.weight ?? 0;
  return weightOf('text/html') > weightOf('application/json');
}
