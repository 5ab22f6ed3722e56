import type { FieldError } from '@leadgate/contract';
import { EXIT, Failure } from './failure.ts';

/** The failure of a command whose input is wrong: all that is wrong, in sentences. */
export function refused(errors: readonly FieldError[]): Failure {
  return new Failure(errors.map(({ detail }) => detail).join(' '), EXIT.usage);
}
