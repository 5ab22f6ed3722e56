import { applyErasures, LedgerError } from '@leadgate/operations';
import type { Command } from 'commander';
import { resolve } from 'node:path';
import { answer, type Context, describe, type JsonOption, remark } from '../command.ts';
import { EXIT, Failure } from '../io.ts';
import { count } from '../print/table.ts';

interface LedgerOptions extends JsonOption {
  fromLedger: string | true;
}

/** `erase --from-ledger`. */
export function addEraseFromLedger(command: Command, context: Context): void {
  describe(command, {
    details:
      'Workers do it by themselves before their first job when ERASURE_LEDGER is set. Erasures that the database knows are left alone.',
    examples: ['erase --from-ledger', 'erase --from-ledger /var/lib/leadgate/erasures.jsonl'],
  })
    .requiredOption('--from-ledger [file]', 'the ledger of erasures: ERASURE_LEDGER unless given')
    .action((options: LedgerOptions) => eraseFromLedger(context, options));
}

async function eraseFromLedger(context: Context, options: LedgerOptions): Promise<void> {
  const { io, session } = context;
  const named = options.fromLedger === true ? session.erasureLedger() : options.fromLedger;
  if (named === null) throw new Failure('Say which file, or set ERASURE_LEDGER.', EXIT.usage);
  const store = session.store();
  if (store.erasureKey === null)
    throw new Failure('Set ERASURE_KEY to the key that the ledger was written under.', EXIT.usage);
  const done = await applyErasures(
    { store, redis: await session.redis() },
    resolve(io.cwd, named),
  ).catch((error: unknown) => {
    throw error instanceof LedgerError ? new Failure(`${error.message}.`) : error;
  });
  answer(
    io,
    options,
    done,
    () => `Applied ${count(done.applied, 'erasure')}; the database knew ${done.known} already.\n`,
  );
  if (done.applied + done.known === 0) remark(io, `${named} holds no erasures.`);
}
