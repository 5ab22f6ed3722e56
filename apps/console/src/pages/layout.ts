import { reaches } from '@leadgate/contract';
import type { FastifyReply } from 'fastify';
import type { Actor } from '../gate.ts';
import { SCRIPTED } from '../headers.ts';
import { html, Html } from './html.ts';
import { STYLE } from './style.ts';

const PAGES: [path: string, title: string][] = [
  ['/', 'Overview'],
  ['/tail', 'Live'],
  ['/leads', 'Leads'],
  ['/duplicates', 'Duplicates'],
  ['/rejected', 'Rejected'],
  ['/held', 'Held'],
  ['/failed', 'Failed'],
  ['/links', 'Links'],
  ['/imports', 'Imports'],
  ['/queues', 'Queue'],
  ['/audit', 'Audit log'],
  ['/account', 'Account'],
];

/** A page for somebody who is signed in; `script`: the path of its own one, if it has one. */
export function sendPage(
  reply: FastifyReply,
  { title, path, body, script }: { title: string; path: string; body: Html; script?: string },
): FastifyReply {
  const { actor } = reply.request;
  if (script !== undefined) reply.header('content-security-policy', SCRIPTED);
  return send(
    reply,
    title,
    html`<header>
        <div>
          <b>Leadgate</b>
          <span class="who">${describe(actor)}</span>
          <form class="inline" method="post" action="/sign-out">
            <button class="quiet">Sign out</button>
          </form>
          <nav aria-label="Pages">
            ${pagesFor(actor).map(
              ([href, name]) =>
                html`<a href="${href}" ${href === path && html`aria-current="page"`}>${name}</a>`,
            )}
          </nav>
        </div>
      </header>
      <main>
        <h1>${title}</h1>
        ${body}
      </main>
      ${tagOf(script)}`,
  );
}

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

const pagesFor = (actor: Actor | null) =>
  PAGES.filter(([path]) => path !== '/audit' || reaches(actor?.role ?? null, 'administrator'));

function describe(actor: Actor | null): string {
  if (actor === null) return '';
  return reaches(actor.role, 'operator')
    ? actor.name
    : `${actor.name} (viewer: personal data masked)`;
}
