import { fillDemo, openDemo, Refusal } from '@leadgate/operations';
import { listLinks, listWorkspaces } from '@leadgate/store';
import type { Command } from 'commander';
import { call, callOf, connectionsOf } from '../call.ts';
import { addCommand, answer, type Context, type JsonOption } from '../command.ts';
import { EXIT, Failure } from '../io.ts';
import { showable } from '../print/showable.ts';
import { count, pairs } from '../print/table.ts';

interface SeedOptions extends JsonOption {
  endpoint?: string;
  empty?: boolean;
  ifFresh?: boolean;
}

export function addDemoCommands(demo: Command, context: Context): void {
  addCommand(demo, 'seed', {
    summary: 'Make a demo workspace with two weeks of invented leads.',
    details:
      'One of its links has fallen silent, and some posts were refused or held. With --endpoint it has an endpoint that is told of the last day, and one that never answers. npm start does this on an empty database. Twice changes nothing.',
    examples: ['demo seed', 'demo seed --endpoint http://127.0.0.1:4000/leads'],
  })
    .option('--endpoint <url>', 'what answers messages about its leads')
    .option('--empty', 'only the workspace, its fields and a link')
    .option('--if-fresh', 'nothing, if there is or was another workspace')
    .action((options: SeedOptions) => seed(context, options));

  addCommand(demo, 'remove', {
    summary: 'Remove the demo workspace with all that it holds.',
    examples: ['demo remove'],
  }).action(async (options: JsonOption) => {
    const workspaces = await listWorkspaces(context.session.store());
    const [demo] = workspaces.filter((one) => one.demo !== null);
    if (demo === undefined) throw new Failure('There is no demo workspace.');
    const removed = await call(context, 'workspace.remove', {
      workspaceId: demo.id,
      confirm: demo.name,
    });
    answer(
      context.io,
      options,
      removed,
      () => `Removed ${removed.name}, with ${count(removed.counts.leads, 'lead')}.\n`,
    );
  });
}

async function seed(context: Context, options: SeedOptions): Promise<void> {
  const { endpoint = null, empty = false, ifFresh: onlyIfFresh = false } = options;
  const connections = connectionsOf(context.session);
  const opened = done(await openDemo(connections, callOf(context), { onlyIfFresh }));
  if (opened.kind === 'not-fresh')
    return answer(context.io, options, null, () => 'Nothing was made: there are workspaces.\n');
  const { workspace } = opened;
  const filled = empty
    ? null
    : done(await fillDemo(connections, callOf(context), workspace, endpoint));
  const first = (await listLinks(context.session.store(), workspace.id)).toSorted(
    (a, b) => a.createdAt.getTime() - b.createdAt.getTime(),
  )[0];
  const { receiverUrl } = context.session.servers();
  const code = first?.codes[0]?.code ?? null;
  const captureUrl = receiverUrl === null || code === null ? null : `${receiverUrl}/ingest/${code}`;
  const made = { workspaceId: workspace.id, code, captureUrl, filled };
  answer(context.io, options, made, () =>
    pairs([
      ['Workspace', workspace.name],
      ['Submissions', filled?.submissions ?? 0],
      ['Refused bodies', filled?.refused ?? 0],
      ['Held', filled?.held ?? 0],
      ['Endpoints', filled?.endpoints ?? 0],
      ['To remove it', 'leadgate demo remove'],
    ]),
  );
}

function done<T>(outcome: T | Refusal): T {
  if (!(outcome instanceof Refusal)) return outcome;
  throw new Failure(
    showable(outcome.detail),
    outcome.code === 'invalid' ? EXIT.usage : EXIT.failed,
  );
}
