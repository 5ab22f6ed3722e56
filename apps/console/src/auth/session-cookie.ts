import type { FastifyReply, FastifyRequest } from 'fastify';

/** `__Host-`: over https no other host, a sister domain included, can set it (RFC 6265bis). */
const nameFor = (request: FastifyRequest): string =>
  request.protocol === 'https' ? '__Host-leadgate' : 'leadgate';

/** The session token of a request; null where its cookie is absent or not signed by us. */
export function sessionTokenOf(request: FastifyRequest): string | null {
  const signed = request.cookies[nameFor(request)];
  if (signed === undefined) return null;
  const { valid, value } = request.unsignCookie(signed);
  return valid ? value : null;
}

/** Gives the browser a session: signed, out of reach of scripts, sent by pages of this site only. */
export function setSessionCookie(
  reply: FastifyReply,
  { token, expiresAt }: { token: string; expiresAt: Date },
): void {
  reply.setCookie(nameFor(reply.request), token, {
    ...optionsFor(reply.request),
    expires: expiresAt,
  });
}

/** Takes the session away from the browser. */
export function clearSessionCookie(reply: FastifyReply): void {
  reply.clearCookie(nameFor(reply.request), optionsFor(reply.request));
}

const optionsFor = (request: FastifyRequest) => ({
  path: '/',
  signed: true,
  httpOnly: true,
  sameSite: 'strict' as const,
  secure: request.protocol === 'https',
});
