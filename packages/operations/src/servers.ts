import type { Intake } from '@leadgate/intake';
import type { Store } from '@leadgate/store';

/** What an operation works with, opened and closed by whoever asks for it. */
export interface Servers extends Intake {
  store: Store;
}
