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

/** What a link holds posts back by: they are kept as held, and answered like any other. */
export interface LinkGuardSettings {
  /** Name of a field that no person sees. */
  honeypot: string | null;
  /** Seconds that a page has been open at least when its form is sent. */
  minFillSeconds: number | null;
  captcha: CaptchaSettings | null;
}

export interface CaptchaSettings {
  verifyUrl: string;
  /** Goes to receivers, and is never shown again. */
  secret: string;
  /** What becomes of a post that could not be checked: taken (`open`) or held (`closed`). */
  fail: 'open' | 'closed';
}

/** A capture link as operators see it. */
export interface Link extends LinkSettings {
  id: string;
  workspaceId: string;
  workspaceName: string;
  state: 'open' | 'disabled';
  guard: Omit<LinkGuardSettings, 'captcha'> & { captcha: Omit<CaptchaSettings, 'secret'> | null };
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
