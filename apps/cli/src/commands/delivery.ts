import { DELIVERY_STATES, type DeliveryState } from '@leadgate/store';
import { Option, type Command } from 'commander';
import { call } from '../call.ts';
import { addCommand, answer, type Context, type JsonOption } from '../command.ts';
import { pairs, shortTime, table } from '../print/table.ts';
import { readId, wholeNumber } from '../read.ts';
import { findEndpointNamed, resend, subjectOf, triesText } from './endpoint.ts';

interface OfEndpoint extends JsonOption {
  endpoint: string;
}

interface ListOptions extends OfEndpoint {
  state?: DeliveryState;
  after?: string;
  limit: number;
}

export function addDeliveryCommands(delivery: Command, context: Context): void {
  ofEndpoint(delivery, 'list', {
    summary: 'List what an endpoint is, and was, to be told, by lead or alarm.',
    examples: [
      'delivery list --endpoint crm --state waiting',
      'delivery list --endpoint crm --state set-aside --limit 500',
    ],
  })
    .addOption(
      new Option('--state <state>', 'only these; waiting: those that fail too').choices(
        DELIVERY_STATES,
      ),
    )
    .option('--after <id>', 'those after this lead or alarm in the list: the next page')
    .option('--limit <n>', 'how many at most', wholeNumber, 50)
    .action(async ({ endpoint, state, after, limit, ...options }: ListOptions) => {
      const { id: endpointId } = await findEndpointNamed(context, endpoint);
      const input = { endpointId, state, limit, after: after && readId(after, 'lead') };
      const found = await call(context, 'delivery.list', input);
      answer(context.io, options, found, () =>
        table(
          [
            'lead or alarm',
            'state',
            'event',
            'version',
            'delivered',
            'due',
            'failures',
            'failing since',
          ],
          found.map((one) => [
            ...[subjectOf(one), one.state, one.event, one.deliveredVersion || null],
            ...[one.deliveredAt && shortTime(one.deliveredAt), one.dueAt && shortTime(one.dueAt)],
            ...[one.attempts || null, one.failingSince && shortTime(one.failingSince)],
          ]),
        ),
      );
    });

  ofEndpoint(delivery, 'show', {
    summary:
      'Show how an endpoint stands with a lead or an alarm, and its tries of the last 14 days.',
    examples: ['delivery show 7c9e6679-7425-40de-944b-e07fc1f90ae7 --endpoint crm'],
  })
    .argument('<lead>', 'id of the lead, or of the alarm')
    .action(async (lead: string, { endpoint, ...options }: OfEndpoint) => {
      const { id: endpointId } = await findEndpointNamed(context, endpoint);
      const input = { endpointId, leadId: readId(lead, 'lead') };
      const one = await call(context, 'delivery.show', input);
      const facts = pairs([
        ['Lead', one.leadId],
        ['Alarm', one.alarmId],
        ['State', one.state],
        ['Event', one.event],
        ['Version there', one.deliveredVersion || null],
        ['Delivered', one.deliveredAt && shortTime(one.deliveredAt)],
        ['Due', one.dueAt && shortTime(one.dueAt)],
        ['Failures', one.attempts || null],
        ['Failing since', one.failingSince && shortTime(one.failingSince)],
        ['Set aside', one.setAsideAt && shortTime(one.setAsideAt)],
        ['Called there', one.remoteIds.join(', ') || null],
      ]);
      answer(context.io, options, one, () => `${facts}\n${triesText(one.tries)}`);
    });

  ofEndpoint(delivery, 'resend', {
    summary: 'Send a lead again, as it stands; endpoint resend sends many.',
    examples: ['delivery resend 7c9e6679-7425-40de-944b-e07fc1f90ae7 --endpoint crm'],
  })
    .argument('<lead>', 'id of the lead')
    .action(async (lead: string, { endpoint, ...options }: OfEndpoint) => {
      const { id: endpointId } = await findEndpointNamed(context, endpoint);
      await resend(context, { endpointId, leadId: readId(lead, 'lead') }, options);
    });
}

function ofEndpoint(
  delivery: Command,
  verb: string,
  help: Parameters<typeof addCommand>[2],
): Command {
  return addCommand(delivery, verb, help).requiredOption(
    '--endpoint <endpoint>',
    'name or id of the endpoint',
  );
}
