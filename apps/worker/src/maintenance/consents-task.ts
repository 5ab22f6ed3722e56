import { fillConsents, type Store } from '@leadgate/store';
import type { MaintenanceTask } from './maintenance.ts';

/** Records consents of submissions that were stored before there was a table of them: some a round. */
export function createConsentsTask(store: Store): MaintenanceTask {
  let filled = false;
  return {
    name: 'record consents',
    async run() {
      if (filled) return null;
      const submissions = await fillConsents(store);
      filled = submissions === null;
      return submissions === null || submissions === 0 ? null : { submissions };
    },
  };
}
