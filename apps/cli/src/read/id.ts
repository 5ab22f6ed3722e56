import { isUuid } from '@leadgate/store';
import { EXIT, Failure } from '../failure.ts';
import { showable } from '../print/showable.ts';

/** An id as typed; `what` it is of, for the Failure where it is none. */
export function readId(text: string, what: string): string {
  const id = text.trim().toLowerCase();
  if (isUuid(id)) return id;
  throw new Failure(`"${showable(text)}" is not the id of a ${what} (a UUID).`, EXIT.usage);
}
