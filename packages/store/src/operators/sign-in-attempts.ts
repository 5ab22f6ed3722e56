import { createHash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { Prisma } from '../generated/client.ts';
import type { Store } from '../open-store.ts';

/** What is tried freely before it is slowed. */
const FREE = 5;

/** The first wait; it doubles from then on. */
const FIRST_WAIT_SECONDS = 15;

/**
 * The longest wait in seconds. A name's is short, so that a stranger who knows it cannot keep its
 * owner out: even so a name can be tried no more than 3,000 times a day.
 */
const LONGEST_WAIT = { name: 30, address: 900, device: 900 };

/** Attempts older than this are forgotten. */
const FORGOTTEN_AFTER_SECONDS = 3_600;

export interface SignInAttempt {
  name: string;
  /** The network address it comes from. */
  address: string;
  /**
   * A browser on which this name has signed in before. Its tries are counted by themselves (OWASP,
   * device cookies): what strangers try, from wherever, does not keep it out.
   */
  device: string | null;
}

/**
 * Counts an attempt to sign in before it is looked at, so that many at once are no way round.
 * Returns the seconds to wait where its name or address has tried too often; it is not counted then.
 */
export async function countAttempt(store: Store, attempt: SignInAttempt): Promise<number | null> {
  if (attempt.device !== null)
    return count(store, bucketOf('device', attempt.device), LONGEST_WAIT.device);
  const address = bucketOf('address', networkOf(attempt.address));
  const waitOfAddress = await count(store, address, LONGEST_WAIT.address);
  if (waitOfAddress !== null) return waitOfAddress;
  return count(store, bucketOf('name', attempt.name), LONGEST_WAIT.name);
}

/** Forgets the attempts that were counted with this one: it ended well. */
export async function forgetAttempts(store: Store, attempt: SignInAttempt): Promise<void> {
  const buckets =
    attempt.device === null
      ? [bucketOf('address', networkOf(attempt.address)), bucketOf('name', attempt.name)]
      : [bucketOf('device', attempt.device)];
  await store.prisma.signInAttempt.deleteMany({ where: { bucket: { in: buckets } } });
}

/** Doubles the wait with every attempt beyond the free ones. */
async function count(store: Store, bucket: string, longest: number): Promise<number | null> {
  const old = Prisma.sql`(a.last_at < now() - make_interval(secs => ${FORGOTTEN_AFTER_SECONDS}::float8))`;
  const counted = await store.prisma.$queryRaw<unknown[]>`
    INSERT INTO sign_in_attempt AS a (bucket, attempts, last_at, free_at)
    VALUES (${bucket}, 1, now(), to_timestamp(0))
    ON CONFLICT (bucket) DO UPDATE SET
      attempts = CASE WHEN ${old} THEN 1 ELSE least(a.attempts + 1, 1000) END,
      last_at = now(),
      -- Not now(): of attempts at once, the transaction of one may have begun before this one's.
      free_at = CASE WHEN ${old} OR a.attempts + 1 < ${FREE}::int THEN to_timestamp(0)
        ELSE now() + make_interval(secs =>
          least(${longest}::float8, ${FIRST_WAIT_SECONDS}::float8 * power(2, least(a.attempts + 1 - ${FREE}::int, 20)))) END
    WHERE a.free_at <= now()
    RETURNING 1`;
  if (counted.length > 0) return null;
  const [row] = await store.prisma.$queryRaw<{ seconds: number }[]>`
    SELECT ceil(extract(epoch FROM free_at - now()))::float8 AS seconds
    FROM sign_in_attempt WHERE bucket = ${bucket}`;
  return Math.max(1, row?.seconds ?? 1);
}

function bucketOf(kind: keyof typeof LONGEST_WAIT, text: string): string {
  const hash = createHash('sha256').update(text.normalize('NFC').trim()).digest('hex');
  return `${kind}:${hash.slice(0, 4)}`;
}

/** A household has a /64 of IPv6 and could use each of its addresses once. */
function networkOf(address: string): string {
  if (!isIPv6(address) || /^::ffff:\d+\./i.test(address)) return address.replace(/^::ffff:/i, '');
  const [head = '', tail = ''] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  const end = tail === '' ? [] : tail.split(':');
  const zeros = address.includes('::') ? Math.max(0, 8 - groups.length - end.length) : 0;
  return [...groups, ...Array<string>(zeros).fill('0'), ...end].slice(0, 4).join(':');
}
