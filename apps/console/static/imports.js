// The page of imports: sends a file, and shows how far it is. Text goes in as text, never as HTML.
const $ = (id) => document.getElementById(id);
const form = $('import');
const POLL_MS = 1_000;
const MOST_LISTED = 200;

/** Ids need a secure context otherwise. */
function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

const count = (number) => number.toLocaleString('en');

function duration(seconds) {
  if (seconds < 60) return `${Math.ceil(seconds)} s`;
  if (seconds < 3_600) return `${Math.ceil(seconds / 60)} min`;
  return `${(seconds / 3_600).toFixed(1)} h`;
}

async function ask(path, options) {
  const answer = await fetch(path, { headers: { accept: 'application/json' }, ...options });
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.detail ?? body.title ?? `It was answered ${answer.status}.`);
  return body;
}

const STATES = {
  running: 'runs',
  done: 'done',
  stopped: 'stopped',
  failed: 'failed',
  interrupted: 'interrupted',
};

/** A run, with what it was asked for and its counts beside the rest. */
const flat = (run) => ({ ...run, ...run.parameters, ...run.progress });

async function list() {
  const runs = (await ask('/api/runs?kind=import&limit=20')).map(flat);
  const acts = $('imports').dataset.acts === 'yes';
  $('imports').replaceChildren(
    ...runs.map((run) => {
      const row = document.createElement('tr');
      const state =
        run.state === 'running' && run.waiting ? 'waits for the queue' : STATES[run.state];
      const cells = [
        ['Started', `${run.begunAt.slice(0, 19).replace('T', ' ')}`],
        ['By', run.begunBy.name],
        ['State', run.dryRun ? `${state} (try)` : state],
        ['Rows', count(run.rows ?? 0)],
        ['Taken', count(run.imported ?? 0)],
        ['Known', count(run.known ?? 0)],
        ['Refused', count(run.refused ?? 0)],
      ];
      for (const [label, text] of cells) {
        const cell = row.insertCell();
        cell.dataset.label = label;
        if (label === 'Refused' && acts && run.file !== null) {
          const link = document.createElement('a');
          link.href = `/api/imports/${run.id}/refused`;
          link.download = '';
          link.textContent = `${text}, as a file`;
          cell.append(link);
        } else cell.append(text);
      }
      return row;
    }),
  );
  return runs;
}

/** One import that this page sends. */
function send(file, query) {
  const importId = newId();
  const started = performance.now();
  const path = `/api/imports?${new URLSearchParams({ ...query, importId })}`;
  const request = new XMLHttpRequest();
  let read = 0;
  let timer;

  $('progress').hidden = false;
  $('progress-problem').hidden = true;
  $('progress-after').hidden = true;
  $('refused').replaceChildren();
  $('refused-none').hidden = false;
  $('bar').removeAttribute('value');
  $('progress-title').textContent = query.dryRun ? `Tries ${file.name}` : `Imports ${file.name}`;
  $('progress-numbers').textContent = '';
  $('stop').hidden = false;
  $('stop').onclick = () =>
    void ask(`/api/runs/${importId}/stop`, { method: 'POST' }).catch(() => {});
  setBusy(true);

  const look = async () => {
    const runs = await list().catch(() => []);
    const run = runs.find((one) => one.id === importId);
    if (run !== undefined) show(run, file, started);
    if (run?.state !== undefined && run.state !== 'running') return end(run);
    timer = setTimeout(look, POLL_MS);
  };

  const readLines = () => {
    const lines = request.responseText.slice(read).split('\n');
    read = request.responseText.length - lines.pop().length;
    for (const line of lines) if (line !== '') tellRefused(JSON.parse(line));
  };
  request.onprogress = readLines;
  request.onloadend = () => {
    readLines();
    if (request.status >= 400) end({ problem: problemOf(request) });
  };
  request.open('POST', path);
  request.setRequestHeader('content-type', 'application/octet-stream');
  request.send(file);
  timer = setTimeout(look, 200);

  let ended = false;
  function end(run) {
    if (ended) return;
    ended = true;
    clearTimeout(timer);
    setBusy(false);
    $('stop').hidden = true;
    if (run.state === 'stopped') $('progress-after').hidden = false;
    if (run.problem) {
      $('progress-problem').textContent = run.problem;
      $('progress-problem').hidden = false;
    }
    void list().catch(() => {});
  }
}

function show(run, file, started) {
  const part = file.size === 0 ? 1 : Math.min(1, (run.bytes ?? 0) / file.size);
  const seconds = (performance.now() - started) / 1_000;
  $('bar').value = run.state === 'done' ? 1 : part;
  const parts = [
    `${count(run.rows ?? 0)} rows`,
    `${count(run.imported ?? 0)} ${run.dryRun ? 'would be taken' : 'taken'}`,
    `${count(run.known ?? 0)} known`,
    `${count(run.refused ?? 0)} refused`,
  ];
  if (run.state === 'running') {
    parts.push(`${count(Math.round((run.rows ?? 0) / seconds))}/s`);
    if (part > 0.02) parts.push(`${duration((seconds / part) * (1 - part))} left`);
    if (run.waiting) parts.push('waits for the queue');
  } else parts.push(STATES[run.state]);
  $('progress-numbers').textContent = parts.join(' · ');
}

function tellRefused({ refused }) {
  if (refused === undefined || $('refused').children.length >= MOST_LISTED) return;
  $('refused-none').hidden = true;
  const item = document.createElement('li');
  const reasons = refused.errors.map(({ pointer, detail }) => `${pointer} ${detail}`.trim());
  item.textContent = `Row ${refused.row}: ${reasons.join(' ')}`;
  $('refused').append(item);
}

function problemOf(request) {
  try {
    const { detail, title } = JSON.parse(request.responseText);
    return detail ?? title;
  } catch {
    return `It was answered ${request.status}.`;
  }
}

function setBusy(busy) {
  for (const button of form.querySelectorAll('button')) button.disabled = busy;
}

form?.addEventListener('submit', (event) => {
  event.preventDefault();
  const fields = [...new FormData(form, event.submitter)];
  const query = Object.fromEntries(
    fields.filter(([name, value]) => name !== 'file' && String(value).trim() !== ''),
  );
  send($('file').files[0], query);
});

void list().catch(() => {});
