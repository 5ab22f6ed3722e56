import { migrate } from '@leadgate/store';
import type { Command } from 'commander';
import { answer, type Context, describe, type JsonOption } from '../command.ts';
import { migrationsFolder } from '../migrations-folder.ts';

export function addMigrate(command: Command, context: Context): void {
  describe(command, {
    details: 'npm start does it by itself.',
    examples: ['migrate'],
  }).action(async (options: JsonOption) => {
    const { io, session } = context;
    const outcome = await migrate(session.databaseUrl(), { directory: migrationsFolder });
    answer(io, options, outcome, () =>
      outcome.applied.length === 0
        ? 'Nothing to do: every migration was applied before.\n'
        : `Applied:\n${outcome.applied.map((name) => `  ${name}\n`).join('')}`,
    );
  });
}
