/** What an operator chooses of a capture link. */
export interface LinkSettings {
  /** Shown to operators only. May be empty, need not be unique. */
  label: string;
  mode: 'strict' | 'lenient';
  requireIdentity: boolean;
  /** Origins (scheme://host[:port]) that may post. Empty: any. */
  origins: string[];
  /** With a list of origins: whether a request without an Origin header may post. */
  allowServers: boolean;
  /** Where a plain HTML form is sent after a 202. */
  redirectUrl: string | null;
  /** Requests a minute; null: the receiver's default. */
  linkLimit: number | null;
  addressLimit: number | null;
}

/** A capture link as operators see it. */
export interface Link extends LinkSettings {
  id: string;
  workspaceId: string;
  workspaceName: string;
  state: 'open' | 'disabled';
  createdAt: Date;
  /** Newest first: the current one, then those that a rotation replaced. Never empty. */
  codes: LinkCode[];
}

export interface LinkCode {
  code: string;
  /** The code is closed from then on. Null: never. */
  expiresAt: Date | null;
  createdAt: Date;
}
