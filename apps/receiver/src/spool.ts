import { accessSync, constants, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Logger, type Shutdown, StartError } from '@leadgate/boot';
import {
  CannotLock,
  type DrainIntake,
  type LinkSnapshot,
  openLinkSnapshot,
  openSpool,
  type Spool,
  startDrain,
} from '@leadgate/intake';
import type { ReceiverConfig } from './config.ts';

/** What a receiver with SPOOL_DIR keeps on disk. */
export interface SpoolDir {
  spool: Spool;
  /** The links, for a start without Redis. */
  links: LinkSnapshot;
  /** Whether it would take a lead now, and knows links without Redis. */
  isUsable(): boolean;
  /** What an operator should look at. */
  warnings(): string[];
  /** From now on what is spooled goes to Redis, whenever `mayDrain` says that it takes leads. */
  startDrain(intake: DrainIntake, mayDrain: () => boolean): void;
}

/**
 * Opens the spool and the link directory below SPOOL_DIR; null without one. Rejects with a StartError
 * if that folder cannot be used at all. A disk that is full is no reason not to start: Redis may
 * be well, and what was spooled has to go there.
 */
export async function openSpoolDir(
  config: Pick<ReceiverConfig, 'SPOOL_DIR' | 'SPOOL_MAX_BYTES' | 'SPOOL_DRAIN_RATE'>,
  { logger, onClose }: { logger: Logger; onClose: Shutdown['add'] },
): Promise<SpoolDir | null> {
  const { SPOOL_DIR: directory, SPOOL_MAX_BYTES: maxBytes, SPOOL_DRAIN_RATE: rate } = config;
  if (directory === undefined) return null;
  requireFolder(directory);
  const links = await openLinkSnapshot(join(directory, 'links.ndjson'), { logger });
  onClose('links on disk', () => links.close());
  const spool = await openSpool(directory, { maxBytes, logger }).catch((error: unknown) => {
    if (!(error instanceof CannotLock)) throw error;
    throw new StartError(`SPOOL_DIR ${directory} cannot be locked: ${error.message}.`);
  });
  onClose('spool', () => spool.close());
  return {
    spool,
    links,
    isUsable: () => links.size > 0 && spool.takesRecords(),
    warnings: () => warningsOf(spool, directory),
    startDrain(intake, mayDrain) {
      const drain = startDrain(spool, intake, { rate, mayDrain, logger });
      onClose('drain of the spool', () => drain.stop());
    },
  };
}

function requireFolder(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const code: unknown = error instanceof Error && Reflect.get(error, 'code');
    throw new StartError(
      `SPOOL_DIR ${directory} cannot be used (${String(code)}): give a folder on a local disk that this user may write to.`,
    );
  }
}

function warningsOf(spool: Spool, directory: string): string[] {
  const { waiting, bytes, maxBytes, damaged, setAside } = spool.status();
  const warnings: string[] = [];
  if (!spool.takesRecords())
    warnings.push('The spool takes no leads now: it is full, or its disk cannot be written.');
  if (waiting > 0)
    warnings.push(
      `${waiting} leads are in the spool (${Math.ceil(bytes / 2 ** 20)} of ${Math.floor(maxBytes / 2 ** 20)} MiB).`,
    );
  if (damaged > 0)
    warnings.push(
      `${damaged} records of the spool are damaged and were set aside: see leadgate spool list ${directory}.`,
    );
  for (const path of setAside)
    warnings.push(`${path} is a spool folder that cannot be opened: keep it for a look.`);
  return warnings;
}
