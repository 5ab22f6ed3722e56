import { refillAll, type RefillSource } from '@leadgate/intake';
import { refillSource } from '@leadgate/store';
import type { Command } from 'commander';
import { answer, type Context, describe, type JsonOption } from '../command.ts';
import { count } from '../print/table.ts';

export function addRebuild(command: Command, context: Context): void {
  describe(command, {
    details:
      'Safe while leads come in: what Redis knows better is left as it is, and no identity gets a second owner.',
    examples: ['rebuild'],
  }).action(async (options: JsonOption) => {
    const { io, session } = context;
    const source = counted(refillSource(session.store()), (line) => io.err(`${line}\n`));
    const done = await refillAll(await session.redis(), source);
    answer(
      io,
      options,
      done,
      () =>
        `Redis holds ${count(done.links, 'link code')} and, of ${count(done.workspaces, 'workspace')}, ${count(done.identities, 'identity', 'identities')}.\n`,
    );
  });
}

/** The same source, which tells how far it was read. */
function counted(source: RefillSource, tell: (line: string) => void): RefillSource {
  return {
    ...source,
    links: () => pages(source.links(), (read) => tell(`links: ${count(read, 'code')} read`)),
    identities: (workspaceId) =>
      pages(source.identities(workspaceId), (read) =>
        tell(`workspace ${workspaceId}: ${count(read, 'identity', 'identities')} read`),
      ),
  };
}

async function* pages<T>(
  source: AsyncIterable<T[]>,
  tell: (read: number) => void,
): AsyncGenerator<T[]> {
  let read = 0;
  for await (const page of source) {
    yield page;
    read += page.length;
    tell(read);
  }
}
