import type { LinkGuardView, LinkSettings } from '@leadgate/contract';

/** What a link holds posts back by: they are kept as held, and answered like any other. */
export interface LinkGuardSettings extends Omit<LinkGuardView, 'captcha'> {
  /** Its secret goes to receivers, and is never shown again. */
  captcha: (NonNullable<LinkGuardView['captcha']> & { secret: string }) | null;
}

/** A capture link as operators see it. */
export interface Link extends LinkSettings {
  id: string;
  workspaceId: string;
  workspaceName: string;
  state: 'open' | 'disabled';
  guard: LinkGuardView;
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
