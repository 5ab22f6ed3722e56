import { lookup as systemLookup, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Why a URL is never called. */
export interface UrlFault {
  code: 'not-a-url' | 'scheme' | 'credentials' | 'inside' | 'too-long';
  detail: string;
}

/** Looks a name up, as `dns.lookup` does: all addresses of it. */
export type LookupAll = (
  hostname: string,
  options: { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** Keeps what calls addresses that operators typed from reaching anything inside. */
export interface Guard {
  /** What is wrong with a URL before anything is looked up; null if it may be tried. */
  faultOf(url: string): UrlFault | null;
  /** Why an address may not be called with a scheme (`https:`, `http:`); null if it may. */
  whyNot(address: string, protocol: string): string | null;
  /**
   * The look-up to connect by. Names are looked up once, and what was judged is what is connected to: an
   * answer that changes between two look-ups has no second one to change. Fails with an InsideError when
   * an address is inside.
   */
  lookup(protocol: string): LookupFunction;
}

/** An address that may not be called. The message names host and address. */
export class InsideError extends Error {
  override readonly name = 'InsideError';
  readonly code = 'ERR_INSIDE';
}

const LONGEST_URL = 2_048;

/** Azure answers a machine's metadata and credentials here, in a public range. */
const AZURE_HOST = '168.63.129.16';

/** What IANA has given out for the internet: the ranges inside of it that are special are refused too. */
const GLOBAL_UNICAST_V6 = ipaddr.IPv6.parseCIDR('2000::/3');
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

/** Whether a text names a network as `10.0.0.0/8` or `fd00::/8` do. */
export function isNetwork(text: string): boolean {
  return ipaddr.isValidCIDR(text);
}

/**
 * Refuses private, loopback, link-local, metadata, reserved and translated addresses, but for those in
 * `allowNetworks` (CIDR). Plain `http:` reaches allowed networks only: what goes over the internet is
 * encrypted.
 *
 * Throws a TypeError when a network is not written as one.
 */
export function createGuard({
  allowNetworks,
  lookup = systemLookup,
}: {
  allowNetworks: readonly string[];
  lookup?: LookupAll;
}): Guard {
  const allowed = allowNetworks.map(readNetwork);
  const isAllowed = (address: Address) =>
    allowed.some(
      ([network, bits]) => address.kind() === network.kind() && address.match(network, bits),
    );

  const shared = sharedLookup(lookup);
  const whyNot: Guard['whyNot'] = (text, protocol) => {
    const address = readAddress(text);
    if (isAllowed(address)) return null;
    const kind = insideKind(address);
    if (kind !== null) return `${text} is ${kind}`;
    return protocol === 'https:' ? null : `${text} is reached by https only`;
  };

  return {
    faultOf: (text) => faultOf(text, allowed.length > 0, whyNot),
    whyNot,
    lookup: (protocol) => judgedLookup(shared, (address) => whyNot(address, protocol)),
  };
}

function faultOf(text: string, hasNetworks: boolean, whyNot: Guard['whyNot']): UrlFault | null {
  if (text.length > LONGEST_URL)
    return { code: 'too-long', detail: `The URL is longer than ${LONGEST_URL} characters.` };
  if (!URL.canParse(text)) return { code: 'not-a-url', detail: 'This is no URL.' };
  const { protocol, username, password, hostname } = new URL(text);
  if (protocol !== 'https:' && !(protocol === 'http:' && hasNetworks))
    return { code: 'scheme', detail: 'The URL has to start with https://.' };
  if (username !== '' || password !== '')
    return {
      code: 'credentials',
      detail: 'The URL holds a user name or password: send them in a header.',
    };
  // By now decimal, octal, hexadecimal and short forms of IPv4 are four decimal numbers.
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (isIP(host) !== 0) {
    const reason = whyNot(host, protocol);
    return reason === null ? null : { code: 'inside', detail: `The URL leads inside: ${reason}.` };
  }
  if (!hasNetworks && /(^|\.)(localhost|local|internal|localdomain|home\.arpa)$/.test(host))
    return { code: 'inside', detail: `The URL leads inside: ${host} is a name of this network.` };
  return null;
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;

function readNetwork(text: string): [Address, number] {
  if (!isNetwork(text)) throw new TypeError(`${text} is no network: write it as 10.0.0.0/8`);
  return ipaddr.parseCIDR(text);
}

/** An address; of one that carries an IPv4 address for a gateway to call, that one. */
function readAddress(text: string): Address {
  // A zone (`fe80::1%eth0`) is of this machine.
  const address = ipaddr.process(text.replace(/%.*/s, ''));
  if (address.kind() === 'ipv6' && address.match(NAT64))
    return ipaddr.fromByteArray(address.toByteArray().slice(-4));
  return address;
}

/** What an address is that is not of the internet; null for one that is. */
function insideKind(address: Address): string | null {
  if (address.toString() === AZURE_HOST) return 'the metadata service of a cloud';
  const range = address.range();
  if (range !== 'unicast') return `not public (${range})`;
  if (address.kind() === 'ipv6' && !address.match(GLOBAL_UNICAST_V6))
    return 'not public (reserved)';
  return null;
}

/**
 * Asks for a name once at a time, for all that want it: Node looks names up on four threads, and one whose server
 * does not answer would hold them all, so that no other endpoint was reached.
 */
function sharedLookup(lookup: LookupAll): LookupAll {
  const waiting = new Map<string, Parameters<LookupAll>[2][]>();
  return (hostname, options, callback) => {
    const others = waiting.get(hostname);
    if (others !== undefined) return void others.push(callback);
    const callbacks = [callback];
    waiting.set(hostname, callbacks);
    lookup(hostname, options, (error, addresses) => {
      waiting.delete(hostname);
      for (const answer of callbacks) answer(error, addresses);
    });
  };
}

/**
 * A look-up whose addresses have all been judged: with one that is inside, none is called, as the name
 * belongs to who tries.
 */
function judgedLookup(
  lookup: LookupAll,
  whyNot: (address: string) => string | null,
): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, [], 0);
      for (const { address } of addresses) {
        const reason = whyNot(address);
        if (reason !== null) return callback(new InsideError(`${hostname}: ${reason}`), [], 0);
      }
      const [first] = addresses;
      if (first === undefined) {
        const none = Object.assign(new Error('no address'), { code: 'ENOTFOUND' });
        return callback(none, [], 0);
      }
      if (options.all === true) return callback(null, addresses);
      return callback(null, first.address, first.family);
    });
  };
}
