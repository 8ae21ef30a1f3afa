import { isLoopback } from '../internal/origin.js';
import { refuse } from '../internal/options.js';
import { parseUrl } from '../internal/parse.js';
import { hideAddress } from '../internal/redact.js';
import { SOLANA_DEVNET, SOLANA_MAINNET, SOLANA_TESTNET } from '../network.js';
import type { ClientOptions, LocalOptions } from './options.js';

const PUBLIC_RPC: Readonly<Record<string, string>> = {
  [SOLANA_MAINNET]: 'https://api.mainnet-beta.solana.com',
  [SOLANA_DEVNET]: 'https://api.devnet.solana.com',
  [SOLANA_TESTNET]: 'https://api.testnet.solana.com',
};

// jupiter.md 1.1: hosts that Jupiter shut down, and that old examples still name.
const OLD_JUPITER_HOSTS = ['lite-api.jup.ag', 'quote-api.jup.ag'];

export function parseServiceUrl(option: string, text: unknown): string {
  const { protocol, hostname, href } = parseBase(option, text);
  if (protocol !== 'https:' && !isLoopback(hostname))
    throw refuse(option, 'must start with https://, unless it is on this machine.');
  return href.replace(/\/+$/, '');
}

/** Reads a service's address; it excludes a transport. Throws `ConfigError` (`invalid_option`). */
export function parseApiUrl({ apiUrl, transport }: ClientOptions): string | undefined {
  if (apiUrl === undefined) return undefined;
  if (transport !== undefined) throw refuse('apiUrl', 'excludes transport. Give one.');
  return parseServiceUrl('apiUrl', apiUrl);
}

export function parseJupiterUrl(text: unknown): string {
  const url = parseServiceUrl('jupiterUrl', text);
  const { hostname } = new URL(url);
  if (OLD_JUPITER_HOSTS.includes(hostname))
    throw refuse('jupiterUrl', `names ${hostname}, which is gone. Use https://api.jup.ag.`);
  return url;
}

/**
 * Reads the addresses of the RPC nodes; none if the caller gives a connection. Throws `ConfigError`
 * (`invalid_option`).
 */
export function parseRpcUrls(
  { rpcUrl, connection }: LocalOptions,
  network: string,
): readonly string[] {
  if (connection !== undefined) {
    if (rpcUrl !== undefined) throw refuse('connection', 'excludes rpcUrl. Give one.');
    return [];
  }
  const nodes = rpcUrl ?? PUBLIC_RPC[network];
  const urls: readonly unknown[] =
    nodes === undefined ? [] : Array.isArray(nodes) ? nodes : [nodes];
  if (urls.length === 0)
    throw refuse('rpcUrl', 'must name at least one RPC node for this network.');
  const addresses = urls.map((url) => readUrl('rpcUrl', url, ['http:', 'https:']));
  const places = addresses.map(normalised);
  // Each node is a separate witness of what landed, so a node that is named twice counts once.
  return addresses
    .filter((_, index) => places.indexOf(places[index] ?? '') === index)
    .map(({ href }) => href);
}

/** Returns equal text for two spellings of one address, as far as the spelling shows that. */
function normalised({ protocol, hostname, port, pathname, search }: URL): string {
  return [protocol, hostname.replace(/\.$/, ''), port, pathname.replace(/\/+$/, ''), search].join(
    ' ',
  );
}

/** Reads the addresses of calls that may be paid ahead. Throws `ConfigError` (`invalid_option`). */
export function parsePresign(value: unknown): readonly string[] | 'stated' {
  if (typeof value === 'boolean') return value ? 'stated' : [];
  if (!Array.isArray(value)) throw refuse('presign', 'must be true, false or a list of addresses.');
  const addresses: readonly unknown[] = value;
  return addresses.map((address) => parseBase('presign', address).href);
}

function parseBase(option: string, text: unknown): URL {
  const url = readUrl(option, text, ['http:', 'https:']);
  if (url.search !== '' || url.hash !== '')
    throw refuse(option, 'must end with its path: what follows is added to it.');
  return url;
}

/**
 * Reads an address with one of the protocols, and without a password. Throws `ConfigError`
 * (`invalid_option`).
 */
export function readUrl(option: string, text: unknown, protocols: readonly string[]): URL {
  const url = typeof text === 'string' ? parseUrl(text) : undefined;
  // The text may hold a provider's key, so the error does not repeat it.
  if (url === undefined || !protocols.includes(url.protocol))
    throw refuse(
      option,
      `must be an address that starts with ${protocols.map((name) => `${name}//`).join(' or ')}.`,
    );
  // fetch refuses such an address at each call, and its error repeats the password.
  if (url.username !== '' || url.password !== '')
    throw refuse(option, 'must hold no user name or password.');
  hideAddress(url.href);
  return url;
}
