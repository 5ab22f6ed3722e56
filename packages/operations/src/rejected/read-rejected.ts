import { PROBLEMS, type BodyType, type CaptureLink, type FieldError } from '@leadgate/contract';
import { parseBody, readLead } from '@leadgate/leads';
import type { RejectedDetails } from '@leadgate/store';
import type { ReadBody } from '../accept.ts';

export interface ReadRejectedOptions {
  /** Sets fields aside that are still wrong, instead of refusing the body for them. */
  lenient?: boolean;
  /** Milliseconds since 1970. */
  now: number;
}

export type RejectedReading =
  | ReadBody
  /** Still not acceptable, and why: what the sender would be told. */
  | { kind: 'refused'; code: string; errors: FieldError[] };

/** The body that counts: as mended, else as sent. */
export function bodyThatCounts(rejected: Pick<RejectedDetails, 'body' | 'bodyType' | 'mended'>): {
  body: string;
  bodyType: BodyType;
} {
  return rejected.mended ?? { body: rejected.body, bodyType: rejected.bodyType };
}

/** Reads a refused body again, as the receiver does, under its link as it is today. */
export function readRejected(
  { body, bodyType }: { body: string; bodyType: BodyType },
  link: CaptureLink,
  { lenient = false, now }: ReadRejectedOptions,
): RejectedReading {
  const parsed = parseBody(Buffer.from(body), bodyType);
  switch (parsed.kind) {
    case 'parsed': {
      const reading = readLead(parsed.value, link, { lenient, now });
      if (reading.kind === 'read' || reading.errors.length > 0) return reading;
      return refused(reading.code);
    }
    case 'empty':
      return refused('empty-body');
    case 'malformed':
      return refused('malformed-json');
    case 'too-many-fields':
      return refused('invalid-lead');
  }
}

function refused(code: keyof typeof PROBLEMS): RejectedReading {
  return {
    kind: 'refused',
    code,
    errors: [{ pointer: '', code, detail: PROBLEMS[code].title }],
  };
}
