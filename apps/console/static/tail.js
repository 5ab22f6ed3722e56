// The page of what happens: rows of an event stream. Text goes in as text, never as HTML.
const body = document.getElementById('events');
const state = document.getElementById('state');
const MOST_ROWS = 200;

const { link } = body.dataset;
const source = new EventSource(link === '' ? '/api/tail' : `/api/tail?linkId=${link}`);
source.onopen = () => (state.textContent = 'Following.');
source.onerror = () =>
  (state.textContent =
    source.readyState === EventSource.CLOSED
      ? 'The console does not answer any more: sign in again, or come back later.'
      : 'Cut off; connecting again …');

const wrong = ({ pointer, code }) => `${pointer} ${code}`.trim();

const READ = {
  submission: ({ submission: s }) => ({
    at: s.acceptedAt,
    what: s.source === 'import' ? 'Imported' : 'Taken',
    link: s.linkLabel || s.linkId,
    href: `/leads/${s.leadId}`,
    about: [
      ...Object.entries(s.lead).map(([field, value]) => `${field}: ${textOf(value)}`),
      ...s.notes.map(({ code, field }) => `! ${code} ${field}`),
    ],
  }),
  rejected: ({ rejected: r }) => ({
    at: r.at,
    what: 'Refused',
    link: r.linkLabel || r.linkId,
    href: `/rejected/${r.rejectedId}`,
    about: [r.code, ...r.errors.map(wrong)],
  }),
  failed: ({ jobId, reason, failedAt }) => ({
    at: failedAt,
    what: 'Failed',
    link: '',
    href: '/failed',
    about: [jobId, reason],
  }),
};

const textOf = (value) => (typeof value === 'object' ? JSON.stringify(value) : String(value));

for (const [kind, read] of Object.entries(READ))
  source.addEventListener(kind, ({ data }) => {
    const { at, what, link, href, about } = read(JSON.parse(data));
    const row = body.insertRow(0);
    row.className = kind;
    const anchor = document.createElement('a');
    anchor.href = href;
    anchor.textContent = what;
    const cells = [
      ['When', at.slice(0, 19).replace('T', ' ')],
      ['What', anchor],
      ['Link', link],
      ['About', about.join(' · ')],
    ];
    for (const [label, content] of cells) {
      const cell = row.insertCell();
      cell.dataset.label = label;
      cell.append(content);
    }
    while (body.rows.length > MOST_ROWS) body.deleteRow(-1);
  });
