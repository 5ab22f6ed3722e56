import { Keyring, readConfig, secretsKeyBeforeSetting, secretsKeySetting } from '@leadgate/boot';
import { allowNetworksSetting } from '@leadgate/delivery';
import type { DeliverySettings } from '@leadgate/operations';
import { Type } from 'typebox';
import type { Io } from './io.ts';
import type { Servers } from './servers.ts';

const Environment = Type.Object({
  SECRETS_KEY: Type.Optional(secretsKeySetting()),
  SECRETS_KEY_BEFORE: secretsKeyBeforeSetting(),
  // What authenticators were encrypted under before there was a SECRETS_KEY.
  CONSOLE_SECRET: Type.Optional(
    Type.String({ description: 'as the console has it', secret: true }),
  ),
  DELIVERY_ALLOW_NETWORKS: allowNetworksSetting(),
});

/**
 * What the environment says of secrets and of deliveries, the same as for the other processes; else what `npm
 * start` runs with. Throws a ConfigError that names what is wrong.
 */
export function readOutward(
  { env }: Pick<Io, 'env'>,
  { allowNetworks, secrets }: Pick<Servers, 'allowNetworks' | 'secrets'>,
): { keyring: Keyring | null; deliveries: DeliverySettings } {
  const given = readConfig(Environment, env);
  const { SECRETS_KEY: key = secrets.secretsKey, SECRETS_KEY_BEFORE: before } = given;
  return {
    keyring:
      key === undefined ? null : new Keyring(key, { before, consoleSecret: given.CONSOLE_SECRET }),
    deliveries: {
      allowNetworks:
        given.SECRETS_KEY === undefined && allowNetworks !== null
          ? allowNetworks
          : given.DELIVERY_ALLOW_NETWORKS,
    },
  };
}
