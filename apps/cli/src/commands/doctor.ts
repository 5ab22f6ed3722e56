import type { Command } from 'commander';
import { answer, type Context, describe, type JsonOption } from '../command.ts';
import { examine, type Finding } from '../doctor/examine.ts';
import { Failure } from '../io.ts';
import { table } from '../print/table.ts';

export function addDoctor(command: Command, context: Context): void {
  describe(command, {
    details: 'Says what to do about what is wrong. Exit status 1 when a check fails.',
    examples: ['doctor', 'doctor --json'],
  }).action(async (options: JsonOption) => {
    const findings = await examine(context.session);
    const failures = findings.filter(({ status }) => status === 'fail');
    answer(context.io, options, { ok: failures.length === 0, checks: findings }, () =>
      report(findings),
    );
    if (failures.length > 0)
      throw new Failure(
        `${failures.length === 1 ? 'one check fails' : `${failures.length} checks fail`}: ${failures.map(({ check }) => check).join(', ')}.`,
      );
  });
}

function report(findings: readonly Finding[]): string {
  const todos = findings.flatMap(({ check, todo }) =>
    todo === null ? [] : [`  ${check}: ${todo}\n`],
  );
  return (
    table(
      ['', 'check', 'found'],
      findings.map(({ status, check, found }) => [status, check, found]),
    ) + (todos.length === 0 ? '' : `\nWhat to do:\n${todos.join('')}`)
  );
}
