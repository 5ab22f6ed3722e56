import { DELIVERY_STATES, listDeliveries, listTries } from '@leadgate/store';
import { Type } from 'typebox';
import { operation, Refusal } from './operation.ts';
import { At, Limit, Nullable, Uuid } from './schema.ts';

const LeadId = Nullable(
  Type.Unsafe<string>({ ...Uuid, description: 'Null: it is of an alarm, or a test.' }),
);
const AlarmId = Nullable(Uuid);

const members = {
  leadId: LeadId,
  alarmId: AlarmId,
  state: Type.String({
    description:
      'waiting; failing: it waits for another try; set-aside: it is not tried any more; delivered: nothing waits.',
  }),
  event: Type.String({ description: 'What is sent, or was last.' }),
  deliveredVersion: Type.Integer({ description: 'The last version that it took; 0: none.' }),
  deliveredAt: Nullable(At),
  dueAt: Nullable(At),
  attempts: Type.Integer({ description: 'Failures since the last success.' }),
  failingSince: Nullable(At),
  setAsideAt: Nullable(At),
  remoteIds: Type.Array(Type.String(), {
    description:
      'What the destination calls the lead: several, if it was told of it under several emails.',
  }),
};

/** One try, as the log has it. */
export const TryView = Type.Object({
  id: Type.String(),
  at: At,
  leadId: LeadId,
  alarmId: AlarmId,
  version: Nullable(Type.Integer()),
  event: Type.String(),
  messageId: Type.String(),
  outcome: Type.String(),
  status: Nullable(Type.Integer()),
  detail: Type.String(),
  durationMs: Type.Integer(),
});

const TRIES_SHOWN = 50;

const LeadOrAlarm = Type.Unsafe<string>({ ...Uuid, description: 'Of a lead, or of an alarm.' });

/** How endpoints stand with leads and alarms: one delivery an endpoint and lead. */
export const delivery = {
  list: operation({
    name: 'delivery.list',
    id: 'listDeliveries',
    method: 'GET',
    path: '/endpoints/:endpointId/deliveries',
    summary: 'List what an endpoint is, and was, to be told, by lead or alarm',
    role: 'operator',
    input: Type.Object({
      endpointId: Uuid,
      state: Type.Optional(
        Type.Enum([...DELIVERY_STATES], { description: 'waiting: those that fail too.' }),
      ),
      after: Type.Optional(
        Type.Unsafe<string>({
          ...Uuid,
          description: 'The lead or alarm that ended the page before.',
        }),
      ),
      limit: Limit,
    }),
    output: Type.Array(Type.Object(members)),
    run: async ({ endpointId, limit = 50, ...filter }, { store }) =>
      listDeliveries(store, endpointId, { ...filter, limit }),
  }),

  show: operation({
    name: 'delivery.show',
    id: 'showDelivery',
    method: 'GET',
    path: '/endpoints/:endpointId/deliveries/:leadId',
    summary:
      'Show how an endpoint stands with a lead or an alarm, and its tries of the last 14 days',
    role: 'operator',
    // Whether it was told of the erasure.
    afterErasure: true,
    input: Type.Object({ endpointId: Uuid, leadId: LeadOrAlarm }),
    output: Type.Object({ ...members, tries: Type.Array(TryView) }),
    run: async ({ endpointId, leadId }, { store }) => {
      const [found] = await listDeliveries(store, endpointId, { leadId, limit: 1 });
      if (found === undefined)
        return new Refusal('not-found', 'The endpoint was never to be told of this lead or alarm.');
      return {
        ...found,
        tries: await listTries(store, endpointId, { leadId, limit: TRIES_SHOWN }),
      };
    },
  }),
};
