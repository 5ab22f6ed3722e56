import { type Keyring, sealedIn } from '@leadgate/boot';
import { Prisma } from './generated/client.ts';
import type { Store } from './open-store.ts';

/** As it is stored: bytes, or text, which from before secrets were encrypted is the secret itself. */
type Stored = Uint8Array<ArrayBuffer> | string;

interface Column {
  read: Prisma.Sql;
  write: (value: Stored) => Prisma.Sql;
}

const column = (name: string): Column => ({
  read: Prisma.raw(name),
  write: (value) => Prisma.sql`${Prisma.raw(name)} = ${value}`,
});

/** All that is stored encrypted. What only has to be recognised (passwords, sessions, tokens) is a hash. */
const HOLDERS = {
  endpoint: { table: 'endpoint', columns: ['secret', 'old_secret', 'headers'].map(column) },
  link: {
    table: 'capture_link',
    columns: [
      column('captcha_secret'),
      {
        read: Prisma.sql`proof->>'secret'`,
        write: (value: Stored) =>
          Prisma.sql`proof = jsonb_set(proof, '{secret}', to_jsonb(${value}::text))`,
      },
    ],
  },
  operator: { table: 'operator', columns: ['totp_secret', 'totp_pending'].map(column) },
};

/** Whose secrets are stored encrypted. */
export type SecretHolder = keyof typeof HOLDERS;
export const SECRET_HOLDERS = Object.keys(HOLDERS) as SecretHolder[];

/** Of secrets that were looked at. */
export interface SecretCounts {
  /** Under the first key already. */
  current: number;
  /** Under another key, or plain: encrypted under the first key now, or would be. */
  renewed: number;
  /** Under a key that is not known here: left as they are. */
  unreadable: number;
}

/** Rows of one transaction: who else wants one waits for milliseconds. */
const AT_ONCE = 100;

/**
 * Encrypts the secrets of the next rows by id anew under the first key of a keyring, and counts; twice changes
 * nothing. `last` is the id to go on after, null after the last row; `changed` are ids of rows that were.
 */
export async function renewSecrets(
  { prisma }: Pick<Store, 'prisma'>,
  keyring: Keyring,
  holder: SecretHolder,
  { after, dryRun }: { after: string; dryRun: boolean },
): Promise<SecretCounts & { last: string | null; changed: string[] }> {
  const { columns } = HOLDERS[holder];
  const table = Prisma.raw(HOLDERS[holder].table);
  const parts = columns.map(({ read }, n) => Prisma.sql`${read} AS ${Prisma.raw(`s${n}`)}`);
  return prisma.$transaction(async (tx) => {
    const rows = await tx.$queryRaw<(Record<string, Stored | null> & { id: string })[]>`
      SELECT id, ${Prisma.join(parts)} FROM ${table} WHERE id > ${after}::uuid
      ORDER BY id LIMIT ${AT_ONCE} ${Prisma.raw(dryRun ? '' : 'FOR NO KEY UPDATE')}`;
    const counts = { current: 0, renewed: 0, unreadable: 0 };
    const changed: string[] = [];
    for (const row of rows) {
      const writes = columns.flatMap(({ write }, n) => {
        const stored = row[`s${n}`] ?? null;
        if (stored === null) return [];
        const outcome = renewed(keyring, stored);
        counts[outcome.kind]++;
        return outcome.kind === 'renewed' ? [write(outcome.value)] : [];
      });
      if (writes.length === 0 || dryRun) continue;
      await tx.$executeRaw`UPDATE ${table} SET ${Prisma.join(writes)} WHERE id = ${row.id}::uuid`;
      changed.push(row.id);
    }
    return { ...counts, changed, last: rows.length < AT_ONCE ? null : (rows.at(-1)?.id ?? null) };
  });
}

function renewed(
  keyring: Keyring,
  stored: Stored,
): { kind: 'current' | 'unreadable' } | { kind: 'renewed'; value: Stored } {
  const sealed = typeof stored === 'string' ? sealedIn(stored) : stored;
  try {
    if (sealed !== null && keyring.isNew(sealed)) return { kind: 'current' };
    const value =
      typeof stored === 'string'
        ? keyring.sealText(keyring.openText(stored))
        : keyring.seal(keyring.open(stored));
    return { kind: 'renewed', value };
  } catch {
    return { kind: 'unreadable' };
  }
}
