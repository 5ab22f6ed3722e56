import { randomUUID } from 'node:crypto';

export interface Post {
  path: string;
  contentType: string;
  body: string;
}

export interface Answer {
  status: number;
  body: unknown;
}

/** The codes of an open and of a disabled capture link. */
export interface Links {
  open: string;
  closed: string;
}

/**
 * What a receiver answers, as far as a snippet can tell: the idempotency key in the body, a refused
 * telephone and birthday, a closed link.
 */
export function standIn(links: Links): (post: Post) => Answer {
  const known = new Map<string, { content: string; leadId: string }>();
  return ({ path, contentType, body }) => {
    if (path !== `/ingest/${links.open}`)
      return path === `/ingest/${links.closed}`
        ? refuse(410, 'link-closed')
        : refuse(404, 'unknown-link');
    const isForm = contentType === 'application/x-www-form-urlencoded';
    const {
      _idempotencyKey: key = randomUUID(),
      _filledMs: _,
      _ageMs: __,
      ...lead
    } = (isForm ? Object.fromEntries(new URLSearchParams(body)) : JSON.parse(body)) as {
      _idempotencyKey?: string;
      _filledMs?: number;
      _ageMs?: number;
      telephone?: string;
      birthday?: string;
    };
    const errors = [
      ...(/[a-z]/i.test(lead.telephone ?? '') ? [fieldError('/telephone')] : []),
      ...(/\//.test(lead.birthday ?? '') ? [fieldError('/birthday')] : []),
    ];
    if (errors.length > 0) return refuse(422, 'invalid-lead', errors);
    const content = JSON.stringify(lead);
    const before = known.get(key);
    if (before && before.content !== content) return refuse(422, 'idempotency-key-reused');
    const leadId = before?.leadId ?? randomUUID();
    known.set(key, { content, leadId });
    return { status: 202, body: { leadId } };
  };
}

const fieldError = (pointer: string) => ({ pointer, code: 'not-valid', detail: 'Send another.' });

function refuse(status: number, code: string, errors?: object[]): Answer {
  return {
    status,
    body: { type: 'about:blank', title: code, status, code, ...(errors && { errors }) },
  };
}
