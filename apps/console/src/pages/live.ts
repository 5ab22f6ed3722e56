import { Uuid } from '@leadgate/operations';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { type Link, listLinks } from '@leadgate/store';
import { Type } from 'typebox';
import { readFileSync } from 'node:fs';
import { acts } from '../gate.ts';
import type { ApiServices } from '../services.ts';
import { html, type Html, type Option, selectOf } from './html.ts';
import { sendPage } from './layout.ts';

/** The scripts of the pages that live: plain JavaScript, beside the sources, sent as it is. */
const SCRIPTS = ['imports.js', 'tail.js'].map((name) => ({
  path: `/static/${name}`,
  text: readFileSync(new URL(`../../static/${name}`, import.meta.url), 'utf8'),
}));

/** The pages that change while they are looked at: imports, and what comes in. */
export const livePageRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (app, { store }) => {
  const hide = true;

  for (const { path, text } of SCRIPTS)
    app.get(path, { schema: { hide } }, (_request, reply) =>
      reply.type('text/javascript; charset=utf-8').send(text),
    );

  app.get('/imports', { schema: { hide } }, async (request, reply) => {
    const mayAct = acts(request);
    const body = importsPage((await listLinks(store)).map(optionOf), mayAct);
    return sendPage(reply, {
      ...{ title: 'Imports', path: '/imports', body },
      script: '/static/imports.js',
    });
  });

  app.get(
    '/tail',
    {
      schema: {
        hide,
        // The form sends an empty one for every link.
        querystring: Type.Object({
          linkId: Type.Optional(Type.Union([Uuid, Type.Literal('')])),
        }),
      },
    },
    async (request, reply) => {
      const linkId = request.query.linkId || null;
      const body = tailPage((await listLinks(store)).map(optionOf), linkId);
      return sendPage(reply, {
        ...{ title: 'As it happens', path: '/tail', body },
        script: '/static/tail.js',
      });
    },
  );
};

const optionOf = ({ id, label, workspaceName }: Link) => ({
  value: id,
  text: `${workspaceName}: ${label === '' ? id.slice(0, 8) : label}`,
});

/** The form that sends a file, and the last imports. Its script fills both. */
function importsPage(links: readonly Option[], acts: boolean): Html {
  return html`<noscript><p class="note">This page needs its script to send a file.</p></noscript>
    ${acts ? form(links) : html`<p class="soft">Viewers see how far imports are.</p>`}
    <section id="progress" class="card" hidden aria-live="polite">
      <p id="progress-title"></p>
      <progress id="bar" max="1"></progress>
      <p id="progress-numbers" class="soft"></p>
      <p id="progress-problem" class="note bad" role="alert" hidden></p>
      <p><button id="stop" class="quiet" type="button" hidden>Stop</button></p>
      <p class="soft" id="progress-after" hidden>
        The same file again goes on where it stopped: rows that were taken are passed over.
      </p>
    </section>
    <h2>Refused rows</h2>
    <p id="refused-none" class="soft">None in this import.</p>
    <ul id="refused" class="plain"></ul>
    <h2>Imports of the last 30 days</h2>
    <div class="scroll">
      <table class="stack">
        <thead>
          <tr>
            ${['Started', 'By', 'State', 'Rows', 'Taken', 'Known', 'Refused'].map(
              (title) => html`<th scope="col">${title}</th>`,
            )}
          </tr>
        </thead>
        <tbody id="imports" data-acts="${acts ? 'yes' : 'no'}"></tbody>
      </table>
    </div>
    <p class="soft">
      Larger ones, and other forms: leadgate import at a prompt writes every refused row to a file.
    </p>`;
}

const form = (links: readonly Option[]): Html =>
  html`<form id="import">
    <label for="file">File (CSV, JSON lines or a JSON array, packed with gzip or not)</label>
    <input id="file" name="file" type="file" required />
    <label for="linkId">Counts as posted to</label>
    ${selectOf('linkId', links)}
    <details>
      <summary>More</summary>
      <label for="timeColumn">Column with the time of the original submission</label>
      <input id="timeColumn" name="timeColumn" spellcheck="false" />
      <label for="timeOffset">Minutes ahead of UTC of times that do not say it</label>
      <input id="timeOffset" name="timeOffset" inputmode="numeric" placeholder="-180" />
      <label for="map">Where columns go, where their names do not say it</label>
      <input id="map" name="map" spellcheck="false" placeholder="Fone=telephone,Coluna X=-" />
      <label for="encoding">Encoding, where it is not UTF-8</label>
      <input id="encoding" name="encoding" spellcheck="false" placeholder="windows-1252" />
      <label for="perSecond">Rows a second at most</label>
      <input id="perSecond" name="perSecond" inputmode="numeric" />
      <label class="check"
        ><input type="checkbox" name="lenient" value="true" /> Set wrong fields aside with a note,
        instead of refusing the row</label
      >
    </details>
    <p>
      <button name="dryRun" value="true" class="second">Try: write nothing</button>
      <button>Import</button>
    </p>
  </form>`;

/** What happens, as it happens. Its script fills the table. */
function tailPage(links: readonly Option[], linkId: string | null): Html {
  return html`<noscript><p class="note">This page needs its script.</p></noscript>
    <form class="search" method="get" action="/tail">
      ${selectOf('linkId', [{ value: '', text: 'Every link' }, ...links], linkId ?? '')}
      <button>Follow</button>
    </form>
    <p id="state" class="soft" role="status">Connecting …</p>
    <div class="scroll">
      <table class="stack">
        <thead>
          <tr>
            ${['When', 'What', 'Link', 'About'].map((title) => html`<th scope="col">${title}</th>`)}
          </tr>
        </thead>
        <tbody id="events" data-link="${linkId ?? ''}"></tbody>
      </table>
    </div>
    <p class="soft">What happens from now on, newest first; the last 200.</p>`;
}
