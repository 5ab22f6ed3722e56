import { deliver, isDue, type Delivery, type Settled } from './delivery.ts';
import { readStored, writeStored } from './web-storage.ts';

const MOST = 10;
const OLDEST = 7 * 24 * 3600_000;
const PAUSE = 30_000;

let report: (settled: Settled) => void = () => {};

/**
 * Sends the leads that are kept in this browser: now, when the network returns, and now and then
 * while the page stays open. Call it once, when a page starts. `hear` is told of each lead that was
 * accepted or rejected.
 */
export function resendUnsent(hear: (settled: Settled) => void): void {
  report = hear;
  const resend = () => void sendUnsent();
  resend();
  addEventListener('online', resend);
  // Scattered, or every open page comes back in the same second as the service.
  setInterval(resend, PAUSE * (1 + Math.random()));
}

/** Sends what is kept and due, oldest first, once each, but for the lead with the key `except`. */
export async function sendUnsent(except?: string): Promise<void> {
  for (const delivery of unsent(except)) {
    if (!isDue(delivery)) continue;
    // The service forgets its key in a day, and takes it for a new lead then: of when it was filled
    // in, by one clock, or it would win over what came since. No part of the content.
    delivery.body = delivery.body.replace('{', `{"_ageMs":${Date.now() - delivery.at},`);
    const settled = await deliver(delivery, 1);
    if (!settled) return;
    forget(delivery.key);
    report(settled);
  }
}

/** Keeps a lead; the oldest gives way if there are too many. Whether it is kept. */
export function keep(delivery: Delivery): boolean {
  return writeStored('localStorage', [...unsent(delivery.key), delivery].slice(-MOST));
}

export function forget(key: string): void {
  writeStored('localStorage', unsent(key));
}

/** The kept leads that are not too old, oldest first, but for one with the key `except`. */
function unsent(except?: string): Delivery[] {
  const stored = readStored('localStorage') as Delivery[] | undefined;
  return ([] as Delivery[])
    .concat(stored || [])
    .filter((one) => Date.now() - one.at < OLDEST && one.key !== except);
}
