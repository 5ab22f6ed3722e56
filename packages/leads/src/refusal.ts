/** Why a value cannot be accepted: a stable code, and what would be right. Never the value itself. */
export interface Refusal {
  readonly code: string;
  readonly detail: string;
}

/** What a value comes to: a normal text, nothing (it was not sent), or a refusal. */
export type Reading = string | undefined | Refusal;

export const NOT_AN_OBJECT: Refusal = { code: 'not-an-object', detail: 'Send a JSON object.' };
export const NOT_TEXT: Refusal = { code: 'not-text', detail: 'Send text.' };

export function tooLong(max: number): Refusal {
  return { code: 'too-long', detail: `Send at most ${max} characters.` };
}

export function isRefusal<T>(reading: T | Refusal): reading is Refusal {
  return typeof reading === 'object' && reading !== null && 'code' in reading;
}
