/** What the service answers to a lead it does not take (RFC 9457). */
export interface Problem {
  title: string;
  /** 0 if there was no answer. */
  status: number;
  /** Stable: `invalid-lead`, `link-closed`, …; `unreachable` if there was no answer. */
  code: string;
  detail?: string;
  errors?: FieldError[];
}

/** One bad field. `pointer` is a JSON pointer (RFC 6901) into the lead. */
export interface FieldError {
  pointer: string;
  code: string;
  detail: string;
}
