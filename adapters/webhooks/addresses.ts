/** An IPv4 or IPv6 address as a number. */
export interface NumericAddress {
  readonly version: 4 | 6;
  readonly bits: bigint;
}

interface Block {
  readonly first: bigint;
  /** Number of low bits that differ within the block. */
  readonly hostBits: bigint;
  readonly why: string;
}

/**
 * IPv4 blocks that are not public: the registry of special addresses (RFC 6890 and later), and the
 * internal addresses of cloud platforms.
 */
const PRIVATE_V4: readonly Block[] = [
  block('0.0.0.0/8', 'this network; systems take 0.0.0.0 for themselves'),
  block('10.0.0.0/8', 'private (RFC 1918)'),
  block(
    '100.64.0.0/10',
    'shared by the customers of a provider (RFC 6598); metadata of Alibaba Cloud',
  ),
  block('127.0.0.0/8', 'this machine'),
  block('168.63.129.16/32', 'the platform of Azure, as its machines see it'),
  block('169.254.0.0/16', 'link-local; metadata of most clouds'),
  block('172.16.0.0/12', 'private (RFC 1918)'),
  block('192.0.0.0/24', 'protocol assignments (RFC 6890); metadata of Oracle Cloud'),
  block('192.0.2.0/24', 'documentation'),
  block('192.31.196.0/24', 'AS112 (RFC 7535)'),
  block('192.52.193.0/24', 'multicast tunnels (RFC 7450)'),
  block('192.88.99.0/24', 'relays of 6to4 (RFC 7526)'),
  block('192.168.0.0/16', 'private (RFC 1918)'),
  block('192.175.48.0/24', 'AS112 (RFC 7534)'),
  block('198.18.0.0/15', 'benchmarks (RFC 2544)'),
  block('198.51.100.0/24', 'documentation'),
  block('203.0.113.0/24', 'documentation'),
  block('224.0.0.0/4', 'multicast'),
  block('240.0.0.0/4', 'reserved, and broadcast'),
];

/**
 * All IPv6 addresses for public use. Addresses outside of it are refused: this machine (`::1`),
 * embedded IPv4 (`::ffff:0:0/96`, `::/96`, NAT64 at `64:ff9b::/96` and `64:ff9b:1::/48`), discarded
 * (`100::/64`), segment routing (`5f00::/16`), unique local (`fc00::/7`, with the metadata of AWS),
 * link-local (`fe80::/10`), site-local (`fec0::/10`), multicast (`ff00::/8`).
 */
const GLOBAL_V6 = block('2000::/3', 'global unicast (RFC 4291)');

/** Blocks within `GLOBAL_V6` that are not public. */
const PRIVATE_V6: readonly Block[] = [
  block('2001::/23', 'protocol assignments (RFC 2928): Teredo, benchmarks, ORCHID'),
  block('2001:db8::/32', 'documentation'),
  block('2002::/16', '6to4 (RFC 3056): any IPv4 address, also a private one'),
  block('2620:4f:8000::/48', 'AS112 (RFC 7534)'),
  block('3ffe::/16', 'given back (RFC 3701)'),
  block('3fff::/20', 'documentation (RFC 9637)'),
];

/**
 * Returns why an address is not public; undefined if it is public. Text that is no numeric address
 * counts as not public.
 */
export function whyNotPublic(text: string): string | undefined {
  const address = readAddress(text);
  if (address === undefined) return 'no IP address';
  if (address.version === 4) return PRIVATE_V4.find((each) => isWithin(address, each))?.why;
  if (!isWithin(address, GLOBAL_V6)) return 'outside of what is global';
  return PRIVATE_V6.find((each) => isWithin(address, each))?.why;
}

/**
 * Reads an address in its usual form: four decimal numbers, or eight hexadecimal numbers with `::`
 * for zeros and possibly IPv4 at the end. Zones and leading zeros are refused.
 */
export function readAddress(text: string): NumericAddress | undefined {
  const bits = text.includes(':') ? readV6(text) : readV4(text);
  return bits === undefined ? undefined : { version: text.includes(':') ? 6 : 4, bits };
}

function readV4(text: string): bigint | undefined {
  const parts = text.split('.');
  if (
    parts.length !== 4 ||
    !parts.every((part) => /^(?:0|[1-9][0-9]{0,2})$/.test(part) && Number(part) < 256)
  )
    return undefined;
  return joined(parts.map(BigInt), 8n);
}

function readV6(text: string): bigint | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const [head, tail] = halves.map((half, index) => readGroups(half, index === halves.length - 1));
  if (head === undefined || (halves.length === 2 && tail === undefined)) return undefined;
  const missing = 8 - head.length - (tail?.length ?? 0);
  if (tail === undefined ? missing !== 0 : missing < 1) return undefined;
  return joined([...head, ...Array<bigint>(missing).fill(0n), ...(tail ?? [])], 16n);
}

/** Reads the 16-bit numbers between colons. The last two may be an IPv4 address. */
function readGroups(text: string, isLast: boolean): bigint[] | undefined {
  if (text === '') return [];
  const parts = text.split(':');
  const v4 = isLast ? readV4(parts[parts.length - 1] ?? '') : undefined;
  const words = v4 === undefined ? parts : parts.slice(0, -1);
  if (!words.every((part) => /^[0-9a-f]{1,4}$/i.test(part))) return undefined;
  return [
    ...words.map((part) => BigInt(`0x${part}`)),
    ...(v4 === undefined ? [] : [v4 >> 16n, v4 & 0xffffn]),
  ];
}

function joined(parts: readonly bigint[], width: bigint): bigint {
  return parts.reduce((sum, part) => (sum << width) | part, 0n);
}

function block(cidr: string, why: string): Block {
  const [base = '', length = ''] = cidr.split('/');
  const isV6 = base.includes(':');
  const hostBits = BigInt((isV6 ? 128 : 32) - Number(length));
  return { first: (isV6 ? readV6(base) : readV4(base)) ?? 0n, hostBits, why };
}

function isWithin({ bits }: NumericAddress, { first, hostBits }: Block): boolean {
  return bits >> hostBits === first >> hostBits;
}
