import type { Link } from '@leadgate/store';
import { answer, type Context, type JsonOption } from '../command.ts';
import { pairs, table } from './table.ts';
import { shortTime } from './time.ts';

type LinkStatus = 'open' | 'disabled' | 'expired';

/** A link as it is printed in JSON: with the code in use and where it is posted to. */
export interface PrintedLink extends Omit<Link, 'codes'> {
  status: LinkStatus;
  code: string;
  /** Null where nothing says where the receiver is. */
  captureUrl: string | null;
  expiresAt: Date | null;
  /** Newest first: the code in use, then those that a rotation replaced. */
  codes: (Link['codes'][number] & { captureUrl: string | null; expired: boolean })[];
}

export function printedLink(link: Link, receiverUrl: string | null): PrintedLink {
  const now = new Date();
  const codes = link.codes.map((code) => ({
    ...code,
    captureUrl: receiverUrl === null ? null : `${receiverUrl}/ingest/${code.code}`,
    expired: code.expiresAt !== null && code.expiresAt <= now,
  }));
  const current = codes[0];
  if (current === undefined) throw new Error('a link has lost its code');
  const { code, captureUrl, expiresAt, expired } = current;
  const status = link.state === 'disabled' ? 'disabled' : expired ? 'expired' : 'open';
  return { ...link, status, code, captureUrl, expiresAt, codes };
}

export function linkTable(links: readonly PrintedLink[]): string {
  return table(
    ['label', 'workspace', 'status', 'mode', 'ends', 'code', 'id'],
    links.map((link) => [
      link.label,
      link.workspaceName,
      link.status,
      link.mode,
      link.expiresAt === null ? null : shortTime(link.expiresAt),
      link.code,
      link.id,
    ]),
  );
}

/** Answers a command with one link. */
export function answerLink({ io, session }: Context, link: Link, options: JsonOption): void {
  const printed = printedLink(link, session.servers().receiverUrl);
  answer(io, options, printed, () => linkText(printed));
}

function linkText(link: PrintedLink): string {
  const limit = (value: number | null) =>
    value === null ? 'the receiver’s default' : `${value} a minute`;
  const settings = pairs([
    ['Capture URL', whereToPost(link)],
    ['Status', link.status],
    ['Ends', link.expiresAt === null ? 'never' : shortTime(link.expiresAt)],
    ['Label', link.label],
    ['Workspace', link.workspaceName],
    ['Mode', link.mode],
    ['Identity', link.requireIdentity ? 'an email or telephone is required' : 'not required'],
    ['Origins', link.origins.length === 0 ? 'any' : link.origins.join(', ')],
    ['Servers', link.allowServers || link.origins.length === 0 ? 'allowed' : 'not allowed'],
    ['Redirect URL', link.redirectUrl],
    ['Link limit', limit(link.linkLimit)],
    ['Address limit', limit(link.addressLimit)],
    ['Honeypot', link.guard.honeypot],
    ['Minimum fill time', minFillText(link)],
    ['CAPTCHA', captchaText(link)],
    ['Code', link.code],
    ['Id', link.id],
    ['Created', shortTime(link.createdAt)],
  ]);
  const old = link.codes.slice(1);
  if (old.length === 0) return settings;
  const replaced = table(
    ['replaced code', 'status', 'ends'],
    old.map(({ code, expiresAt, expired }) => [
      code,
      expired ? 'expired' : 'still valid',
      expiresAt === null ? 'never' : shortTime(expiresAt),
    ]),
  );
  return `${settings}\n${replaced}`;
}

function minFillText({ guard: { minFillSeconds } }: PrintedLink): string | null {
  return minFillSeconds === null ? null : `${minFillSeconds} s`;
}

function captchaText({ guard: { captcha } }: PrintedLink): string | null {
  if (captcha === null) return null;
  return `${captcha.verifyUrl}, ${captcha.fail === 'open' ? 'takes' : 'holds'} what cannot be checked`;
}

/** The address to post to, or what of it is known. */
function whereToPost({ captureUrl, code }: PrintedLink): string {
  return captureUrl ?? `…/ingest/${code} (set RECEIVER_URL to see it whole)`;
}
