/** Exit statuses, as `leadgate --help` lists them. */
export const EXIT = { ok: 0, failed: 1, usage: 2, unreachable: 3, stopped: 130 } as const;
export type ExitStatus = (typeof EXIT)[keyof typeof EXIT];

/** A command cannot do what was asked. The message is one sentence: what happened, what to do. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly status: ExitStatus;

  constructor(message: string, status: ExitStatus = EXIT.failed) {
    super(message);
    this.status = status;
  }
}
