import {
  databaseUrlSetting,
  logLevelSetting,
  otlpEndpointSetting,
  portSetting,
  secretsKeyBeforeSetting,
  secretsKeySetting,
} from '@leadgate/boot';
import { allowNetworksSetting } from '@leadgate/delivery';
import { Type, type Static } from 'typebox';

/** Every setting of the deliverer: its environment variable, meaning, default and limits. */
export const DelivererConfig = Type.Object({
  DATABASE_URL: databaseUrlSetting(),
  SECRETS_KEY: secretsKeySetting(),
  SECRETS_KEY_BEFORE: secretsKeyBeforeSetting(),
  DELIVERY_ALLOW_NETWORKS: allowNetworksSetting(),
  DELIVERY_TIMEOUT_MS: Type.Integer({
    description: 'the milliseconds that an endpoint has to answer',
    default: 15_000,
    minimum: 100,
    maximum: 60_000,
  }),
  LANE_LEASE_MS: Type.Integer({
    description:
      'the milliseconds after which endpoints of a deliverer that went away are taken by another',
    default: 15_000,
    minimum: 300,
  }),
  DATABASE_POOL_SIZE: Type.Integer({
    description: 'connections to Postgres at most, beside one that listens',
    default: 4,
    minimum: 1,
    maximum: 100,
  }),
  DELIVERER_HOST: Type.String({
    description: 'the network address /live, /ready and /metrics listen on',
    default: '0.0.0.0',
  }),
  DELIVERER_PORT: portSetting('the port of /live, /ready and /metrics', 3003),
  SHUTDOWN_TIMEOUT_MS: Type.Integer({
    description: 'the milliseconds that sends under way have to end when the deliverer is stopped',
    default: 8_000,
    minimum: 100,
  }),
  LOG_LEVEL: logLevelSetting(),
  OTEL_EXPORTER_OTLP_ENDPOINT: otlpEndpointSetting(),
});
export type DelivererConfig = Static<typeof DelivererConfig>;
