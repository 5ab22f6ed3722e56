import { capture, type CaptureError, type CaptureOptions, type Sent } from './capture.ts';
import type { Accepted } from './delivery.ts';
import { clearFeedback, showFeedback } from './feedback.ts';
import type { Lead } from './lead.ts';
import { resendUnsent } from './outbox.ts';
import { readForm } from './read-form.ts';
import { currentVisit } from './visit.ts';

declare global {
  interface Window {
    leadgate?: {
      capture(link: string, lead: Lead, options?: Partial<CaptureOptions>): Promise<Accepted>;
    };
  }
}

// The one place that starts something by being loaded: it is the file of a <script>.
const script = document.currentScript as HTMLScriptElement;
const { link, base, storage, touch } = script.dataset;
const remember = storage !== 'off';
const options: CaptureOptions = {
  base: base || new URL(script.src).origin,
  storage: remember,
  touch: touch as 'last',
  // Asked each time: what a visitor agrees to may change while the page stands.
  get attribution() {
    return script.dataset.attribution !== 'off';
  },
};

window.leadgate = {
  capture: (toLink, lead, more) => capture(toLink, lead, { ...options, ...more }),
};

// The visit's touch is in the address bar of the page it starts on, which may have no form.
currentVisit(remember, script.dataset.attribution !== 'off');

// At the document, so that forms added later are heard too, and after the page's own listeners, so
// that what they prevent stays prevented.
document.addEventListener('submit', (event) => {
  const form = event.target as HTMLFormElement;
  const toLink = form.dataset.link || link;
  if (event.defaultPrevented || !form.matches('[data-leadgate]') || !toLink) return;
  const filled = readForm(form);
  // Had anything thrown before, the browser would have sent the form itself.
  event.preventDefault();
  if (form.matches('[aria-busy=true]')) return;
  clearFeedback();
  const buttons = ([...form.elements] as HTMLButtonElement[]).filter(
    ({ type, disabled }) => type === 'submit' && !disabled,
  );
  const occupy = (busy: boolean) => {
    for (const button of buttons) button.disabled = busy;
    form.setAttribute('aria-busy', `${busy}`);
  };
  occupy(true);
  void capture(toLink, filled.lead, options)
    .catch((error: CaptureError) => error)
    .then((sent) => {
      occupy(false);
      if (raise(form, sent)) showFeedback(form, filled, sent);
    });
});

// A lead of an earlier visit has no form any more: its events are the document's.
if (remember) resendUnsent((settled) => raise(document, settled));

/** Whether the page leaves to us what the visitor sees: it did not `preventDefault()`. */
function raise(target: EventTarget, sent: Sent): boolean {
  return target.dispatchEvent(
    new CustomEvent(`leadgate:${sent.kind}`, { bubbles: true, cancelable: true, detail: sent }),
  );
}
