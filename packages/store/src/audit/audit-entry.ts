/** Who did something: an operator or a token by name, the one-time code, or the command line. */
export interface AuditActor {
  kind: 'operator' | 'token' | 'code' | 'command-line';
  name: string;
}

/** Something that was done, or tried. */
export interface AuditEntry {
  id: number;
  /** ISO 8601, UTC. */
  at: string;
  actor: AuditActor;
  /** A short stable name: `link.create`. */
  action: string;
  /** Ids and names of what it was done to. No personal data. */
  subject: Record<string, string>;
  /** Null: it was begun, and the process went away in the middle of it. */
  outcome: 'done' | 'refused' | 'failed' | null;
  requestId: string | null;
}
