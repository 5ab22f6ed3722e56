import type { LinkDirectory, Limits } from '@leadgate/intake';
import type { Answer } from './answer.ts';
import type { Asset } from './assets/asset.ts';
import type { Demo } from './assets/read-demo.ts';
import type { Intake } from './accept-lead.ts';
import type { ReceiverConfig } from './config.ts';
import type { Health } from './health.ts';

/** All that the app needs from outside, opened and closed by whoever builds it. */
export interface ReceiverServices extends Intake {
  config: Pick<ReceiverConfig, 'RATE_LIMIT_LINK' | 'RATE_LIMIT_ADDRESS' | 'KEEP_ADDRESS'>;
  directory: Pick<LinkDirectory, 'find' | 'peek'>;
  limits: Pick<Limits, 'count'>;
  health: Health;
  /** The script for landing pages. */
  snippet: Asset;
  /** Null where none is served. */
  demo: Demo | null;
  /** Told what each post came to, and the milliseconds it took. */
  onAnswer: (answer: Answer, ms: number) => void;
}
