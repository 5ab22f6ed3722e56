import type { Reserver } from '@leadgate/intake';
import type { Producer } from '@leadgate/queue';
import type { Store } from '@leadgate/store';

/** What an operation works with, opened and closed by whoever asks for it. */
export interface Servers {
  store: Store;
  reserver: Pick<Reserver, 'reserve'>;
  producer: Pick<Producer, 'enqueue'>;
}
