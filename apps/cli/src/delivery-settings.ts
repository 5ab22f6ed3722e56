import { readConfig } from '@leadgate/boot';
import { allowNetworksSetting, deliveryKeySetting } from '@leadgate/delivery';
import type { DeliverySettings } from '@leadgate/operations';
import { endpointKey } from '@leadgate/store';
import { Type, type Static } from 'typebox';
import type { Io } from './io.ts';
import type { Servers } from './servers.ts';

const Environment = Type.Object({
  DELIVERY_KEY: Type.Optional(deliveryKeySetting()),
  DELIVERY_ALLOW_NETWORKS: allowNetworksSetting(),
});

/**
 * What the environment says of deliveries, the same as for deliverers; else what `npm start` runs with. Throws a
 * ConfigError that names what is wrong.
 */
export function readDeliverySettings(
  { env }: Pick<Io, 'env'>,
  { delivery }: Pick<Servers, 'delivery'>,
): DeliverySettings {
  const given: Static<typeof Environment> = readConfig(Environment, env);
  const key = given.DELIVERY_KEY ?? delivery?.key;
  return {
    key: key === undefined ? null : endpointKey(key),
    allowNetworks:
      given.DELIVERY_KEY === undefined && delivery !== null
        ? delivery.allowNetworks
        : given.DELIVERY_ALLOW_NETWORKS,
  };
}
