import { Type, type Static } from 'typebox';
import {
  databaseUrlSetting,
  logLevelSetting,
  otlpEndpointSetting,
  portSetting,
  redisClusterSetting,
  redisUrlSetting,
  secretsKeyBeforeSetting,
  secretsKeySetting,
} from '@leadgate/boot';
import { erasureKeySetting, erasureLedgerSetting } from '@leadgate/operations';
import { allowNetworksSetting } from '@leadgate/delivery';
import { consentKeySetting } from '@leadgate/intake';
import { queueShardsSetting } from '@leadgate/queue';

/** Every setting of the console: its environment variable, meaning, default and limits. */
export const ConsoleConfig = Type.Object({
  DATABASE_URL: databaseUrlSetting(),
  REDIS_URL: redisUrlSetting(),
  REDIS_CLUSTER: redisClusterSetting(),
  QUEUE_SHARDS: queueShardsSetting(),
  CONSOLE_HOST: Type.String({
    description:
      'the network address the console listens on: this machine only, unless told otherwise',
    default: '127.0.0.1',
  }),
  CONSOLE_PORT: portSetting('the port the console listens on', 3001),
  CONSOLE_SECRET: Type.String({
    description: 'the secret that signs the session cookies, the same for every console',
    examples: ['the output of: openssl rand -base64 32'],
    secret: true,
    minLength: 32,
  }),
  CONSOLE_TRUST_PROXY: Type.Array(Type.String(), {
    description:
      'the proxies in front of the console whose X-Forwarded-For and -Proto are believed, as addresses or CIDRs',
    default: [],
    examples: ['10.0.0.0/8'],
  }),
  RECEIVER_URL: Type.Optional(
    Type.String({
      description: 'where senders reach the receiver, to show whole capture URLs',
      examples: ['https://leads.example.com'],
    }),
  ),
  CONSENT_KEY: consentKeySetting(),
  ERASURE_KEY: erasureKeySetting(),
  ERASURE_LEDGER: erasureLedgerSetting(),
  SECRETS_KEY: secretsKeySetting(),
  SECRETS_KEY_BEFORE: secretsKeyBeforeSetting(),
  DELIVERY_ALLOW_NETWORKS: allowNetworksSetting(),
  DATABASE_POOL_SIZE: Type.Integer({
    description: 'connections to Postgres at most',
    default: 5,
    minimum: 1,
    maximum: 100,
  }),
  LOG_LEVEL: logLevelSetting(),
  OTEL_EXPORTER_OTLP_ENDPOINT: otlpEndpointSetting(),
});
export type ConsoleConfig = Static<typeof ConsoleConfig>;
