import { resendSteps } from '@leadgate/store';
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import type { Work } from './runs.ts';
import { Time, Uuid } from './schema.ts';

/** Which deliveries of an endpoint are sent again; all of it has to fit. */
export const ResendFilter = Type.Object({
  leadId: Type.Optional(Uuid),
  setAside: Type.Optional(Type.Boolean({ description: 'Only those that are not tried any more.' })),
  since: Type.Optional(
    Type.Unsafe<Static<typeof Time>>({ ...Time, description: 'Last delivered from then on.' }),
  ),
  until: Type.Optional(
    Type.Unsafe<Static<typeof Time>>({ ...Time, description: 'Last delivered before then.' }),
  ),
});

const ResendParameters = Type.Object({ endpointId: Uuid, ...ResendFilter.properties });

/**
 * Has deliveries wait again, at once, each with its lead as it stands when it is sent, under a new message id: the
 * endpoint is sent them at its own pace. A step that is done again has its leads sent once more, which changes nothing.
 */
export const resendWork: Work = async ({ run, signal, tell }, { store }) => {
  const { endpointId, since, until, ...filter } = Value.Parse(ResendParameters, run.parameters);
  const steps = resendSteps(
    store,
    endpointId,
    {
      ...filter,
      ...(since !== undefined && { since: new Date(since) }),
      // What is delivered meanwhile is as it stands.
      until: until === undefined ? run.begunAt : new Date(until),
    },
    run.cursor,
  );
  let { resent = 0 } = run.progress;
  for await (const { count, last } of steps) {
    resent += count;
    tell({ resent }, last);
    if (signal.aborted) return;
  }
};
