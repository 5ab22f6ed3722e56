import type { FieldError, Note, NoteCode } from '@leadgate/contract';
import { isRefusal, type Reading, type Refusal } from './refusal.ts';

/** Unknown keys noted one by one; a body of thousands is summed up beyond. */
const UNKNOWN_KEYS_NAMED = 20;

/** What is found while a body is read: refused fields, and notes on what was accepted. */
export class Findings {
  readonly errors: FieldError[] = [];
  readonly #notes: Note[] = [];
  #unknownKeys = 0;

  /** The text of a reading. A refusal is put down as an error of the field and gives nothing. */
  accept(reading: Reading, pointer: string): string | undefined {
    if (!isRefusal(reading)) return reading;
    this.refuse(reading, pointer);
    return undefined;
  }

  refuse({ code, detail }: Refusal, pointer: string): void {
    this.errors.push({ pointer, code, detail });
  }

  note(field: string, code: NoteCode, detail?: string): void {
    this.#notes.push({ field, code, ...(detail !== undefined && { detail }) });
  }

  unknownKey(pointer: () => string): void {
    this.#unknownKeys += 1;
    if (this.#unknownKeys <= UNKNOWN_KEYS_NAMED) this.note(pointer(), 'unknown-key');
  }

  /** Every note of a body that is accepted: what was refused of it was set aside. */
  notes(): Note[] {
    const notes: Note[] = this.errors.map(({ pointer, detail }) => ({
      field: pointer,
      code: 'set-aside',
      detail,
    }));
    notes.push(...this.#notes);
    const unnamed = this.#unknownKeys - UNKNOWN_KEYS_NAMED;
    if (unnamed > 0) notes.push({ field: '', code: 'unknown-key', detail: `and ${unnamed} more` });
    return notes;
  }
}
