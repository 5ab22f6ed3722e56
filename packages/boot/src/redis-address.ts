/** One server of a Cluster. */
export interface RedisNode {
  host: string;
  port: number;
}

/** Where Redis is: one server, or some nodes of a Cluster, which knows the others. */
type RedisAddress =
  | { kind: 'server'; url: string }
  | {
      kind: 'cluster';
      nodes: RedisNode[];
      /** Those of the first URL: all nodes have the same. */
      login: { username?: string; password?: string };
      tls: boolean;
    };

const PROTOCOLS = ['redis:', 'rediss:'];
const DEFAULT_PORT = 6379;

/**
 * Reads REDIS_URL: a URL, or several with commas between them (the protocol, user and password of the
 * first stand for those that do not say theirs). Several are nodes of a Cluster; one is if
 * `cluster` says so. Throws a TypeError with what is wrong, and without the text, which holds a secret.
 */
export function readRedisAddress(
  text: string,
  { cluster = false }: { cluster?: boolean } = {},
): RedisAddress {
  const parts = partsOf(text);
  const [first, ...others] = parts.map((part) => (part.includes('://') ? part : `//${part}`));
  const start = parse(first ?? '');
  if (others.length === 0 && !cluster) return { kind: 'server', url: text.trim() };
  const urls = [start, ...others.map((part) => parse(part, start.protocol))];
  for (const url of urls) {
    if (url.hostname === '') throw new TypeError(WRONG);
    if (url.pathname.replace(/^\/0?$/, '') !== '')
      throw new TypeError('must not name a database: a Cluster has one');
    const isOther =
      url.protocol !== start.protocol ||
      (url.password !== '' && url.password !== start.password) ||
      (url.username !== '' && url.username !== start.username);
    if (isOther)
      throw new TypeError('must have the same protocol, user and password for all nodes');
  }
  return {
    kind: 'cluster',
    nodes: urls.map(({ hostname, port }) => ({
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: port === '' ? DEFAULT_PORT : Number(port),
    })),
    login: {
      ...(start.username !== '' && { username: decodeURIComponent(start.username) }),
      ...(start.password !== '' && { password: decodeURIComponent(start.password) }),
    },
    tls: start.protocol === 'rediss:',
  };
}

/** A comma may also stand in a password: then what is before it is no URL by itself. */
function partsOf(text: string): string[] {
  const parts = text.split(',').map((part) => part.trim());
  const isOne = !URL.canParse(parts[0] ?? '') && URL.canParse(text.trim());
  return isOne ? [text.trim()] : parts;
}

function parse(text: string, protocol = ''): URL {
  const whole = text.startsWith('//') ? `${protocol}${text}` : text;
  if (!URL.canParse(whole)) throw new TypeError(WRONG);
  const url = new URL(whole);
  if (!PROTOCOLS.includes(url.protocol)) throw new TypeError(WRONG);
  return url;
}

const WRONG =
  'must be a URL that starts with redis:// or rediss://, or several with commas between them';
