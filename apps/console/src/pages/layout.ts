import type { FastifyReply } from 'fastify';
import { SCRIPTED } from '../headers.ts';
import { html, Html } from './html.ts';
import { STYLE } from './style.ts';

/** A page for somebody who is not signed in. */
export function sendDoor(
  reply: FastifyReply,
  { title, body, script }: { title: string; body: Html; script?: string },
): FastifyReply {
  if (script !== undefined) reply.header('content-security-policy', SCRIPTED);
  return send(
    reply,
    title,
    html`<main class="door">${body}</main>
      ${tagOf(script)}`,
  );
}

const tagOf = (script: string | undefined) =>
  script !== undefined && html`<script type="module" src="${script}"></script>`;

// As it is, to the last space: the browser knows it by its hash.
const STYLE_TAG = new Html(`<style>${STYLE}</style>`);

function send(reply: FastifyReply, title: string, body: Html): FastifyReply {
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <link rel="icon" href="data:," />
        <title>${title} · Leadgate</title>
        ${STYLE_TAG}
      </head>
      <body>
        ${body}
      </body>
    </html>`;
  return reply.type('text/html; charset=utf-8').send(page.text);
}
