import type { Problem } from './problem.ts';
import type { FilledForm, Input } from './read-form.ts';
import type { Sent } from './capture.ts';
import type { Rejected } from './delivery.ts';
import { textsFor } from './texts.ts';

/** How to take away what the last answer showed. */
let undos: (() => void)[] = [];

/** Takes away what the last answer showed. */
export function clearFeedback(): void {
  for (const undo of undos) undo();
  undos = [];
}

/**
 * Says at the form's end what became of the lead, in the document's language, and beside every field
 * that the service named what is wrong. The first of those takes the focus, else the message: the
 * button that had it was disabled meanwhile.
 */
export function showFeedback(form: HTMLFormElement, { inputs }: FilledForm, sent: Sent): void {
  const texts = textsFor(document.documentElement.lang || navigator.language);
  const { errors = [], code } = (sent as Partial<Rejected>).problem || ({} as Partial<Problem>);
  for (const { pointer, detail } of errors) {
    const [input] = inputs.get(pointer) || [];
    if (input && !input.matches('[type=hidden],[aria-invalid=true]'))
      mark(input, texts.field || detail);
  }
  const message = noteOf(texts[code === 'identity-required' ? 'identity' : sent.kind]);
  message.setAttribute('role', sent.kind === 'rejected' ? 'alert' : 'status');
  message.tabIndex = -1;
  form.append(message);
  (form.querySelector<HTMLElement>('[aria-invalid=true]') || message).focus();
}

function mark(input: Input, text: string): void {
  const note = noteOf(text);
  const described = input.getAttribute('aria-describedby') || '';
  const describe = (invalid: boolean, by: string) => {
    input.setAttribute('aria-invalid', `${invalid}`);
    input.setAttribute('aria-describedby', by);
  };
  (input.closest('label') || input).after(note);
  note.id = `leadgate-${undos.length}`;
  // Legible on light and dark; by script, which a strict CSP lets pass.
  note.style.color = 'crimson';
  describe(true, `${described} ${note.id}`);
  undos.push(() => describe(false, described));
}

function noteOf(text: string): HTMLElement {
  const note = document.createElement('p');
  note.className = 'leadgate-note';
  note.textContent = text;
  undos.push(() => note.remove());
  return note;
}
