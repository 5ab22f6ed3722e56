import type { SendResult, Verdict } from '../verdict.ts';
import { hubspot } from './hubspot.ts';
import { webhook } from './webhook.ts';

/** An alarm as it stands, to be told to an endpoint. */
export interface News {
  /** The same through all tries of one version. */
  id: string;
  event: string;
  /** ISO 8601: when it became what it is. */
  timestamp: string;
  /** As in a message of a webhook. */
  data: object;
}

interface LeadNews extends News {
  leadId: string;
  version: number;
  /** What the destination called the lead when it was told before: each name once. Of an erased one its emails too. */
  remoteIds: readonly string[];
}

export interface Request {
  kind: 'send';
  url: string;
  headers: Record<string, string>;
  body: string | Buffer;
  /** What came of it. */
  read: (result: SendResult, now: number) => { verdict: Verdict; remoteId: string | null };
}

/** What an endpoint of a kind is sent, and how its answers are read. One file a kind. */
export interface Destination {
  /** `skip`: it has no place for such a lead, and why. */
  lead: (news: LeadNews) => Request | { kind: 'skip'; detail: string };
  /** The same of an alarm. */
  alarm: (news: News) => Request | { kind: 'skip'; detail: string };
  /** What shows that it can be reached and takes the credentials, without data of anybody. */
  test: (id: string) => Request;
  /**
   * What was sent and not answered may be taken late, after what is newer, if a destination keeps no versions: so
   * long after a success that came after a failure, the lead is sent once more as it stands. Milliseconds;
   * null: late news do no harm.
   */
  confirmAfterMs: number | null;
}

/** What is known of an endpoint. */
export interface DestinationSettings {
  endpointId: string;
  url: string;
  /** Headers of the operator's. */
  headers: Readonly<Record<string, string>>;
  /** What it is sent with: signing secrets, the one in use first; or one token. */
  secrets: readonly string[];
  /** By the destination's name of a field, queries over the lead; null: those of its kind. */
  mapping: Readonly<Record<string, readonly string[]>> | null;
}

/** The kinds of endpoints. */
export const DESTINATIONS = { webhook, hubspot } satisfies Record<
  string,
  (settings: DestinationSettings) => Destination
>;
export type DestinationKind = keyof typeof DESTINATIONS;
export const DESTINATION_KINDS = Object.keys(DESTINATIONS) as DestinationKind[];
