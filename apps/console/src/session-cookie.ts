import type { FastifyReply, FastifyRequest } from 'fastify';
import { createHash, randomUUID } from 'node:crypto';

/** `__Host-`: over https no other host, a sister domain included, can set it (RFC 6265bis). */
const nameFor = (request: FastifyRequest, name: 'leadgate' | 'leadgate-device'): string =>
  request.protocol === 'https' ? `__Host-${name}` : name;

/** The session token of a request; null if its cookie is absent or not signed by us. */
export const sessionTokenOf = (request: FastifyRequest): string | null =>
  signedCookie(request, 'leadgate');

function signedCookie(request: FastifyRequest, name: Parameters<typeof nameFor>[1]): string | null {
  const signed = request.cookies[nameFor(request, name)];
  if (signed === undefined) return null;
  const { valid, value } = request.unsignCookie(signed);
  return valid ? value : null;
}

/** Gives the browser a session: signed, out of reach of scripts, sent by pages of this site only. */
export function setSessionCookie(
  reply: FastifyReply,
  { token, expiresAt }: { token: string; expiresAt: Date },
): void {
  reply.setCookie(nameFor(reply.request, 'leadgate'), token, {
    ...optionsFor(reply.request),
    expires: expiresAt,
  });
}

const DEVICE_SECONDS = 365 * 24 * 3_600;

/** Lets the browser be told from strangers when this name signs in the next time. */
export function setDeviceCookie(reply: FastifyReply, operator: string): void {
  reply.setCookie(
    nameFor(reply.request, 'leadgate-device'),
    `${randomUUID()}.${digestOf(operator)}`,
    { ...optionsFor(reply.request), maxAge: DEVICE_SECONDS },
  );
}

/** Which browser this is, if `operator` has signed in on it; else null. */
export function deviceOf(request: FastifyRequest, operator: string): string | null {
  const [device, digest] = signedCookie(request, 'leadgate-device')?.split('.') ?? [];
  return device !== undefined && digest === digestOf(operator) ? device : null;
}

const digestOf = (operator: string): string =>
  createHash('sha256').update(operator).digest('base64url');

/** Takes the session away from the browser. */
export function clearSessionCookie(reply: FastifyReply): void {
  reply.clearCookie(nameFor(reply.request, 'leadgate'), optionsFor(reply.request));
}

const optionsFor = (request: FastifyRequest) => ({
  path: '/',
  signed: true,
  httpOnly: true,
  sameSite: 'strict' as const,
  secure: request.protocol === 'https',
});
