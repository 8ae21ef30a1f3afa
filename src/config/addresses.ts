import { isLoopback } from '../internal/origin.js';
import { refuse } from '../internal/options.js';
import { hideAddress } from '../internal/redact.js';
import { SOLANA_DEVNET, SOLANA_MAINNET, SOLANA_TESTNET } from '../network.js';
import type { ClientOptions, LocalOptions } from './options.js';

const PUBLIC_RPC: Readonly<Record<string, string>> = {
  [SOLANA_MAINNET]: 'https://api.mainnet-beta.solana.com',
  [SOLANA_DEVNET]: 'https://api.devnet.solana.com',
  [SOLANA_TESTNET]: 'https://api.testnet.solana.com',
};

// jupiter.md 1.1: hosts that are gone, which old examples still name.
const DEAD_JUPITER_HOSTS = ['lite-api.jup.ag', 'quote-api.jup.ag'];

/** The base address of a service. Throws `ConfigError` (`invalid_option`). */
export function parseServiceUrl(option: string, text: unknown): string {
  const { protocol, hostname, href } = parseBase(option, text);
  if (protocol !== 'https:' && !isLoopback(hostname))
    throw refuse(option, 'must start with https://, unless it is on this machine.');
  return href.replace(/\/+$/, '');
}

/** A service instead of a transport. Throws `ConfigError` (`invalid_option`). */
export function parseApiUrl({ apiUrl, transport }: ClientOptions): string | undefined {
  if (apiUrl === undefined) return undefined;
  if (transport !== undefined)
    throw refuse('apiUrl', 'and transport exclude each other. Give one.');
  return parseServiceUrl('apiUrl', apiUrl);
}

/** Where Jupiter is asked. Throws `ConfigError` (`invalid_option`). */
export function parseJupiterUrl(text: unknown): string {
  const url = parseBase('jupiterUrl', text);
  if (DEAD_JUPITER_HOSTS.includes(url.hostname))
    throw refuse('jupiterUrl', `names ${url.hostname}, which is gone. Use https://api.jup.ag.`);
  return url.href.replace(/\/+$/, '');
}

/**
 * The nodes of a network, none beside a connection of the caller's. Throws `ConfigError`
 * (`invalid_option`).
 */
export function parseRpcUrls(
  { rpcUrl, connection }: LocalOptions,
  network: string,
): readonly string[] {
  if (connection !== undefined) {
    if (rpcUrl !== undefined)
      throw refuse('connection', 'and rpcUrl exclude each other. Give one.');
    return [];
  }
  const given = rpcUrl ?? PUBLIC_RPC[network];
  const urls: readonly unknown[] =
    given === undefined ? [] : Array.isArray(given) ? given : [given];
  if (urls.length === 0)
    throw refuse('rpcUrl', 'must name at least one RPC node for this network.');
  const all = urls.map((url) => parseUrl('rpcUrl', url, ['http:', 'https:']));
  const places = all.map(placeOf);
  // Each node is a witness of its own of what landed: one that is named twice is none of itself.
  return all.filter((_, index) => places.indexOf(places[index] ?? '') === index);
}

/** The same for two spellings of one address, as far as one can be seen to be the other. */
function placeOf(address: string): string {
  const { protocol, hostname, port, pathname, search } = new URL(address);
  return [protocol, hostname.replace(/\.$/, ''), port, pathname.replace(/\/+$/, ''), search].join(
    ' ',
  );
}

/** Addresses whose calls may be paid ahead. Throws `ConfigError` (`invalid_option`). */
export function parsePresign(value: unknown): readonly string[] | 'stated' {
  if (typeof value === 'boolean') return value ? 'stated' : [];
  if (!Array.isArray(value)) throw refuse('presign', 'must be true, false or a list of addresses.');
  const all: readonly unknown[] = value;
  return all.map((one) => parseBase('presign', one).href);
}

/** An address that paths are added to. */
function parseBase(option: string, text: unknown): URL {
  const url = new URL(parseUrl(option, text, ['http:', 'https:']));
  if (url.search !== '' || url.hash !== '')
    throw refuse(option, 'must end with its path: what follows is added to it.');
  return url;
}

/**
 * An address of one of these protocols, without a password. Throws `ConfigError`
 * (`invalid_option`).
 */
export function parseUrl(option: string, text: unknown, protocols: readonly string[]): string {
  let url: URL | undefined;
  try {
    if (typeof text === 'string') url = new URL(text);
  } catch {
    // refused below: the text may hold a key of a provider, so neither it nor the parser's message
    // is repeated
  }
  if (url === undefined || !protocols.includes(url.protocol))
    throw refuse(
      option,
      `must be an address that starts with ${protocols.map((one) => `${one}//`).join(' or ')}.`,
    );
  // fetch refuses such an address at each call, in words that repeat it.
  if (url.username !== '' || url.password !== '')
    throw refuse(option, 'must hold no user name or password: fetch takes no such address.');
  hideAddress(url.href);
  return url.href;
}
