import { isIP } from 'node:net';
import { allowNetworksSetting } from '@leadgate/delivery';
import { type Static, Type } from 'typebox';
import {
  logLevelSetting,
  otlpEndpointSetting,
  portSetting,
  redisClusterSetting,
  redisUrlSetting,
  secretsKeyBeforeSetting,
  secretsKeySetting,
  urlSetting,
} from '@leadgate/boot';
import { consentKeyBeforeSetting, consentKeySetting } from '@leadgate/intake';
import { queueShardsSetting } from '@leadgate/queue';

/** Every setting of the receiver: its environment variable, meaning, default and limits. */
export const ReceiverConfig = Type.Object({
  REDIS_URL: redisUrlSetting(),
  REDIS_CLUSTER: redisClusterSetting(),
  QUEUE_SHARDS: queueShardsSetting(),
  RECEIVER_HOST: Type.String({
    description: 'the network address the receiver listens on',
    default: '0.0.0.0',
  }),
  RECEIVER_PORT: portSetting('the port the receiver listens on', 3000),
  LIVENESS_WINDOW_MS: Type.Integer({
    description:
      'the milliseconds for which Redis answers a new connection and none of this process’s own, after which /live says 503',
    default: 45_000,
    minimum: 100,
  }),
  LOG_LEVEL: logLevelSetting(),
  OTEL_EXPORTER_OTLP_ENDPOINT: otlpEndpointSetting(),
  TRUST_PROXY: Type.Refine(
    Type.Array(Type.String(), {
      description:
        'the proxies whose X-Forwarded-For is believed, as addresses, CIDRs, or loopback, linklocal, uniquelocal',
      default: [],
      examples: ['10.0.0.0/8'],
    }),
    (proxies) => proxies.every(isProxy),
    () => 'must be a list of addresses and CIDRs',
  ),
  RATE_LIMIT_LINK: Type.Integer({
    description:
      'the posts a minute that a link takes, where the link does not say; a body counts as one post for each 2 KiB of it',
    default: 60_000,
    minimum: 1,
  }),
  RATE_LIMIT_ADDRESS: Type.Integer({
    description:
      'the posts a minute that one network address may send to a workspace, where the link does not say',
    default: 6_000,
    minimum: 1,
  }),
  CAPTCHA_URLS: Type.Array(Type.String(), {
    description:
      'verify URLs of CAPTCHA services that links may use beside Turnstile, hCaptcha and reCAPTCHA',
    default: [],
    examples: ['https://captcha.example.com/siteverify'],
  }),
  DELIVERY_ALLOW_NETWORKS: allowNetworksSetting(),
  KEEP_ADDRESS: Type.Union(
    [Type.Literal('full'), Type.Literal('truncated'), Type.Literal('none')],
    {
      description:
        'how much of the sender’s network address is kept with a submission (truncated: /24 of IPv4, /48 of IPv6)',
      default: 'full',
    },
  ),
  SPOOL_DIR: Type.Optional(
    Type.String({
      description:
        'a folder on a local disk where leads are kept while Redis cannot take them; without it they are answered 503',
      examples: ['/var/lib/leadgate/spool'],
    }),
  ),
  SPOOL_MAX_BYTES: Type.Integer({
    description: 'the bytes of leads that a process keeps below SPOOL_DIR at most',
    default: 2 ** 30,
    minimum: 2 ** 20,
  }),
  SPOOL_DRAIN_RATE: Type.Integer({
    description: 'the leads a second that go from the spool to Redis once it is back',
    default: 500,
    minimum: 1,
  }),
  REDIS_WAIT_REPLICAS: Type.Integer({
    description: 'the replicas of Redis that must have a lead before it is answered 202',
    default: 0,
    minimum: 0,
  }),
  MAX_QUEUE_DEPTH: Type.Integer({
    description: 'the jobs that may wait before leads go to the spool or are answered 503',
    default: 1_000_000,
    minimum: 1,
  }),
  MAX_REDIS_MEMORY_PERCENT: Type.Integer({
    description:
      'the share of Redis’s maxmemory that may be used before leads go to the spool or are answered 503; above 80 the queue could no longer drain',
    default: 80,
    minimum: 1,
    maximum: 80,
  }),
  METRICS_PORT: Type.Optional(
    Type.Integer({
      description: 'a port of its own for GET /metrics; without it there is none',
      examples: [9_090],
      minimum: 0,
      maximum: 65_535,
    }),
  ),
  METRICS_HOST: Type.String({
    description: 'the network address of METRICS_PORT: never one that the public reaches',
    default: '127.0.0.1',
  }),
  REQUEST_TIMEOUT_MS: Type.Integer({
    description: 'the milliseconds a sender has to send a whole request',
    default: 10_000,
    minimum: 100,
  }),
  KEEP_ALIVE_TIMEOUT_MS: Type.Integer({
    description:
      'the milliseconds an idle connection is kept open: longer than the load balancer’s own',
    default: 72_000,
    minimum: 0,
  }),
  STOP_DELAY_MS: Type.Integer({
    description:
      'the milliseconds that posts are still taken after the receiver was told to stop, while /ready says so: longer than the load balancer takes to notice',
    default: 0,
    minimum: 0,
    maximum: 60_000,
  }),
  SECRETS_KEY: Type.Optional(secretsKeySetting()),
  SECRETS_KEY_BEFORE: secretsKeyBeforeSetting(),
  CONSENT_KEY: consentKeySetting(),
  CONSENT_KEY_BEFORE: consentKeyBeforeSetting(),
  DEMO_LINK: Type.Optional(
    Type.String({
      description: 'the code of a capture link: serves a demo landing page for it at /demo',
      pattern: '^[\\w.~-]{1,128}$',
    }),
  ),
  CONSOLE_URL: Type.Optional(
    urlSetting(['http:', 'https:'], {
      description: 'where operators reach the console: the demo links to it',
      examples: ['https://console.example.com'],
    }),
  ),
});
export type ReceiverConfig = Static<typeof ReceiverConfig>;

const NAMED_NETWORKS = new Set(['loopback', 'linklocal', 'uniquelocal']);

function isProxy(text: string): boolean {
  if (NAMED_NETWORKS.has(text)) return true;
  const [address = '', bits, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return (
    bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
  );
}
