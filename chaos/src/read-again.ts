import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ADDRESS_FIELDS, LEAD_FIELDS } from '@leadgate/contract';
import { leadgate } from '../../scripts/launcher/apps.js';
import type { System } from './system.ts';
import type { Random } from './random.ts';

const FINISH_WITHIN_MS = 300_000;

const FIELDS = [
  ...LEAD_FIELDS,
  ...ADDRESS_FIELDS.map((field) => `address.${field}`),
  ...['utmContent', 'customFields.plano', 'customFields.horario'],
];
const MAPPING = {
  preset: null,
  rules: Object.fromEntries(FIELDS.map((field) => [field, [`$.form.${field}`]])),
};

/**
 * Has the foreign senders' links mapped after a while, and what they were sent read again, by commands that meet the
 * faults as all else does and are killed now and then. `finish`: reads all of it again to the end; `left`: the
 * links with which that did not end in time.
 */
export function startReadingAgain(
  system: System,
  random: Random,
  afterMs: number,
): { finish: () => Promise<{ done: number; ended: number; left: number }> } {
  const counts = { done: 0, ended: 0, left: 0 };
  const codes = system.targets.flatMap(({ code, isForeign }) => (isForeign ? [code] : []));
  const anyCode = () => codes[random.below(codes.length)] ?? '';
  const stopped = new AbortController();
  const isMapped = new Set<string>();

  async function readAgain(code: string, timeout: number, urls: Urls): Promise<boolean> {
    if (!isMapped.has(code)) {
      const file = join(system.folder, 'mapping.json');
      await writeFile(file, JSON.stringify(MAPPING));
      if (!(await run(['link', 'map', code, '--file', file], timeout, urls))) return false;
      isMapped.add(code);
    }
    const isDone = await run(['submission', 'read-again', '--link', code], timeout, urls);
    counts[isDone ? 'done' : 'ended'] += 1;
    return isDone;
  }

  const run = (args: string[], timeout: number, urls: Urls): Promise<boolean> =>
    leadgate(urls, args, { cwd: system.folder, timeout, killSignal: 'SIGKILL' }).then(
      () => true,
      () => false,
    );

  const throughFaults = {
    DATABASE_URL: system.networkOfPostgres.url,
    REDIS_URL: system.redis.urlOfProcesses,
  };
  const running = (async () => {
    await delay(afterMs, undefined, stopped).catch(() => undefined);
    while (!stopped.signal.aborted) {
      await readAgain(anyCode(), 1_000 + random.below(8_000), throughFaults);
      await delay(random.between(0, 1_000), undefined, stopped).catch(() => undefined);
    }
  })();

  return {
    finish: async () => {
      stopped.abort();
      await running;
      const urls = { DATABASE_URL: system.postgres.url, REDIS_URL: system.redis.url };
      for (const code of codes) {
        let isDone = false;
        for (const until = Date.now() + FINISH_WITHIN_MS; !isDone && Date.now() < until;)
          isDone = await readAgain(code, FINISH_WITHIN_MS, urls);
        if (!isDone) counts.left += 1;
      }
      return counts;
    },
  };
}

type Urls = Record<'DATABASE_URL' | 'REDIS_URL', string>;
