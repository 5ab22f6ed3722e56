// Shows what went over the wire and what came back. A real landing page needs none of this: its
// form and one line of script are enough.
const form = document.querySelector('form');
const done = document.querySelector('#done');
let sent = '';

const send = window.fetch;
window.fetch = (url, options) => {
  sent = options?.body ?? '';
  return send(url, options);
};

form.addEventListener('leadgate:accepted', (event) => {
  event.preventDefault();
  const { leadId } = event.detail;
  document.querySelector('#lead-id').textContent = leadId;
  document.querySelector('#sent').textContent = pretty(sent);
  document.querySelector('#command').textContent = `npx leadgate lead show ${leadId}`;
  const base = document.body.dataset.console;
  const link = document.querySelector('#console');
  link.href = `${base}/leads/${leadId}`;
  link.hidden = base === '';
  form.hidden = true;
  done.hidden = false;
  done.focus();
  done.scrollIntoView({ block: 'nearest' });
});

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
