import { html, type Html } from './html.ts';
import { selectOf, type Option } from './parts.ts';

/** The form that sends a file, and the imports of this console. Its script fills both. */
export function importsPage(links: readonly Option[], acts: boolean): Html {
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
    <h2>Imports of this console</h2>
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
