import type { BodyType } from './submission.ts';
import type { FieldError } from './problem.ts';

/** A body that a known link refused, kept for an operator to mend. Never applied as it is. */
export interface RejectedBody {
  /** The submission id it was answered under: UUIDv7. */
  id: string;
  workspaceId: string;
  linkId: string;
  /** Microseconds since 1970, the receiver's clock. */
  stamp: number;
  /** Of the problem it was answered with. */
  code: string;
  errors: FieldError[];
  body: string;
  bodyType: BodyType;
  page?: string;
  userAgent?: string;
  /** The sender's network address, as configured. */
  address?: string;
}
