import { ConsoleConfig } from '../apps/console/src/config.ts';
import { DelivererConfig } from '../apps/deliverer/src/config.ts';
import { ReceiverConfig } from '../apps/receiver/src/config.ts';
import { WorkerConfig } from '../apps/worker/src/config.ts';

/** What each process reads of its environment. */
export const SETTINGS = {
  receiver: ReceiverConfig,
  worker: WorkerConfig,
  deliverer: DelivererConfig,
  console: ConsoleConfig,
};
