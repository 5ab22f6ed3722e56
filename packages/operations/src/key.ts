import {
  linkEntries,
  NIL_UUID,
  renewSecrets,
  SECRET_HOLDERS,
  type SecretCounts,
  type SecretHolder,
} from '@leadgate/store';
import { Type } from 'typebox';
import { NO_KEY, operation } from './operation.ts';
import { tellRedis } from './run.ts';

/** The key that secrets are encrypted under. */
export const key = {
  rotate: operation({
    name: 'key.rotate',
    id: 'rotateKey',
    method: 'POST',
    path: '/keys/rotate',
    summary: 'Encrypt every secret under SECRETS_KEY that is not yet, while everything runs',
    description:
      'In small steps. What was done stays done when it is stopped: the same again does the rest.',
    role: 'administrator',
    input: Type.Object({
      dryRun: Type.Optional(Type.Boolean({ description: 'Counts only.' })),
    }),
    output: Type.Object({
      key: Type.String({ description: 'Which SECRETS_KEY this process has, as an id of it.' }),
      holders: Type.Array(
        Type.Object({
          holder: Type.String({ description: SECRET_HOLDERS.join(', ') }),
          current: Type.Integer({ description: 'Secrets that were under it already.' }),
          renewed: Type.Integer({ description: 'Those that are now, or would be.' }),
          unreadable: Type.Integer({
            description: 'Under a key that this process does not have: left as they are.',
          }),
        }),
      ),
    }),
    run: async ({ dryRun = false }, connections, call) => {
      const keyring = await connections.keyring();
      if (keyring === null) return NO_KEY;
      const { store } = connections;
      const holders: (SecretCounts & { holder: SecretHolder })[] = [];
      for (const holder of SECRET_HOLDERS) {
        const counts = { current: 0, renewed: 0, unreadable: 0 };
        for (let after: string | null = NIL_UUID; after !== null;) {
          call.signal.throwIfAborted();
          const step = await renewSecrets(store, keyring, holder, { after, dryRun });
          counts.current += step.current;
          counts.renewed += step.renewed;
          counts.unreadable += step.unreadable;
          if (holder === 'link' && step.changed.length > 0)
            await tellRedis(connections, call, async (redis) => {
              const { putLinks } = await import('@leadgate/intake');
              for (const id of step.changed) await putLinks(redis, await linkEntries(store, id));
            });
          after = step.last;
        }
        holders.push({ holder, ...counts });
      }
      return { key: keyring.id, holders };
    },
  }),
};
