import { toAmount } from './amount.js';
import { ConfigError } from './errors.js';
import type { Journal } from './journal/types.js';
import { isLoopback } from './loopback.js';
import { SOLANA_MAINNET, toNetwork } from './network.js';
import { parsePolicy, type Policy, type PolicyOptions } from './policy/policy.js';
import { readMint, refuse } from './policy/read.js';
import { systemRuntime, type Runtime } from './runtime.js';
import { isAddress } from './solana/address.js';
import type { Connection } from './solana/connection.js';
import { createKeySigner } from './solana/keys.js';
import type { Signer } from './solana/signer.js';
import type { SwapMode, SwapRequest } from './swap/types.js';
import type { Transport } from './transport.js';

/** Deadlines in milliseconds. */
export interface Timeouts {
  /** One call of an RPC node; default 10000. */
  readonly rpc?: number;
  /** One call of Jupiter; default 10000. */
  readonly jupiter?: number;
  /** One call of the service at `apiUrl`, further tries included; default 30000. */
  readonly service?: number;
  /** Reading the body of a 402; default 10000. */
  readonly terms?: number;
  /** The paid request, in which a facilitator settles; default 120000. */
  readonly payment?: number;
  /** One answer of the signer, or of `policy.approve`, who may be a person; default 120000. */
  readonly signer?: number;
  /** One call of the journal; default 10000. */
  readonly journal?: number;
}

/** Options of `createClient`. Wrong ones throw `ConfigError` at construction. */
export interface ClientOptions {
  /** The paying wallet: base58, the text of a JSON array, or bytes; a 64-byte keypair or a 32-byte seed. Never leaves this process. */
  readonly walletSecretKey?: string | Uint8Array | readonly number[] | undefined;
  /** Instead of a key: whatever signs for the wallet. */
  readonly signer?: Signer | undefined;
  /**
   * Base address of a service that quotes and builds swaps and reads balances: the transport is then `remote(apiUrl)`. What it answers is judged
   * in this process, against prices of `jupiterUrl` and over `rpcUrl`. Default: Jupiter and the RPC node, in this process.
   */
  readonly apiUrl?: string | undefined;
  /** The service's key, where it asks for one: sent to `apiUrl` alone, as `Authorization: Bearer`. */
  readonly apiKey?: string | undefined;
  /** Instead of `apiUrl`: where quotes and swaps come from. */
  readonly transport?: Transport | undefined;
  /** RPC nodes: the first is primary, the others fail over. Default: the network's public node. */
  readonly rpcUrl?: string | readonly string[] | undefined;
  /** WebSocket address of the primary node; default: derived as web3.js does. */
  readonly wsUrl?: string | undefined;
  /** The caller's own web3.js connection instead of `rpcUrl`. */
  readonly connection?: Connection | undefined;
  /** Default `https://api.jup.ag`. */
  readonly jupiterUrl?: string | undefined;
  readonly jupiterApiKey?: string | undefined;
  /** CAIP-2 id or name of the cluster; default Solana mainnet. */
  readonly network?: string | undefined;
  /** Swap a held token when the asked-for one is short; default false. */
  readonly autoSwap?: boolean | undefined;
  /** Mints or pinned symbols to swap from, in order; default: any held token. */
  readonly swapFrom?: readonly string[] | undefined;
  readonly policy?: PolicyOptions | undefined;
  /** Default: one in memory for each wallet in the process. */
  readonly journal?: Journal | undefined;
  /** Milliseconds for which a repeated call of a spent purchase is answered `already_spent` instead of paying anew; default 60000. */
  readonly retryWindow?: number | undefined;
  /** What sends requests; default: the global fetch, looked up at each call. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  readonly timeouts?: Timeouts | undefined;
}

/** Options of `local()`: those of `createClient` that need no wallet. */
export interface LocalOptions extends Omit<Pick<ClientOptions, (typeof LOCAL_NAMES)[number]>, 'journal'> {
  /**
   * Keeps what `autoPay` is handed on record: swaps before they are sent, payments before their header is given, and what the chain made of
   * them. The caps of `policy` then count it, by wallet. Default: nothing is kept, and no cap over time counts.
   */
  readonly journal?: Journal | undefined;
}

/** What the local transport works with. */
export interface LocalSettings {
  readonly rpcUrls: readonly string[];
  readonly wsUrl: string | undefined;
  readonly connection: Connection | undefined;
  readonly jupiterUrl: string;
  readonly jupiterApiKey: string | undefined;
  readonly network: string;
  readonly swapFrom: readonly string[] | undefined;
  readonly policy: Policy;
  readonly fetch: typeof globalThis.fetch;
  readonly timeouts: Required<Timeouts>;
  readonly journal: Journal | undefined;
  readonly runtime: Runtime;
}

/** Options, checked and complete. The key is not among them: only the signer is. */
export interface Config extends LocalSettings {
  readonly signer: Signer;
  readonly apiUrl: string | undefined;
  readonly apiKey: string | undefined;
  readonly transport: Transport | undefined;
  readonly autoSwap: boolean;
  readonly retryWindow: number;
}

const PUBLIC_RPC: Readonly<Record<string, string>> = {
  [SOLANA_MAINNET]: 'https://api.mainnet-beta.solana.com',
};

const LOCAL_NAMES = [
  'rpcUrl',
  'wsUrl',
  'connection',
  'jupiterUrl',
  'jupiterApiKey',
  'network',
  'swapFrom',
  'policy',
  'fetch',
  'timeouts',
  'journal',
] as const;
const CLIENT_NAMES: readonly (keyof ClientOptions)[] = [
  ...LOCAL_NAMES,
  'walletSecretKey',
  'signer',
  'apiUrl',
  'apiKey',
  'transport',
  'autoSwap',
  'retryWindow',
];

/** What a service has for one call, which may lead to several of Jupiter and a node. */
export const SERVICE_MS = 30_000;

const TRANSPORT_METHODS = ['quote', 'buildSwap', 'balance', 'parsePayment', 'autoPay'] as const;
const JOURNAL_METHODS = ['reserve', 'put', 'release', 'similar', 'attempts', 'used'] as const;
const CONNECTION_METHODS = ['getGenesisHash', 'getLatestBlockhash', 'sendRawTransaction'] as const;

// jupiter.md 1.1: hosts that are gone, which old examples still name.
const DEAD_JUPITER_HOSTS = ['lite-api.jup.ag', 'quote-api.jup.ag'];

/** Checks options and fills in the defaults. Throws `ConfigError` (`invalid_option`, `invalid_key`), synchronously. */
export function parseOptions(options: ClientOptions, runtime: Runtime = systemRuntime): Config {
  refuseUnknown(options, CLIENT_NAMES);
  return {
    ...parseSettings(options, runtime),
    signer: parseSigner(options),
    apiUrl: parseApiUrl(options),
    apiKey: parseServiceKey(options),
    transport: parsePort('transport', options.transport, TRANSPORT_METHODS),
    autoSwap: parseBoolean('autoSwap', options.autoSwap ?? false),
    retryWindow: parseMs('retryWindow', options.retryWindow ?? 60_000),
  };
}

/** As {@link parseOptions}, for the transport alone. */
export function parseLocalOptions(options: LocalOptions, runtime: Runtime = systemRuntime): LocalSettings {
  refuseUnknown(options, LOCAL_NAMES);
  return parseSettings(options, runtime);
}

/** A misspelt option, a cap above all, would silently be none. Throws `ConfigError` (`invalid_option`). */
export function refuseUnknown(options: unknown, names: readonly string[]): void {
  if (!isRecord(options)) throw refuse('options', 'must be an object.');
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown !== undefined) throw refuse(unknown, 'is not known. Check its spelling.');
}

function parseSettings(options: LocalOptions, runtime: Runtime): LocalSettings {
  const name: unknown = options.network ?? SOLANA_MAINNET;
  const network = typeof name === 'string' ? toNetwork(name) : undefined;
  if (network === undefined) throw refuse('network', 'must be a Solana cluster such as "solana" or its CAIP-2 id.');
  return {
    rpcUrls: parseRpcUrls(options, network),
    wsUrl: options.wsUrl === undefined ? undefined : parseUrl('wsUrl', options.wsUrl, ['ws:', 'wss:']),
    connection: parsePort('connection', options.connection, CONNECTION_METHODS),
    jupiterUrl: parseJupiterUrl(options.jupiterUrl ?? 'https://api.jup.ag'),
    jupiterApiKey: parseApiKey('jupiterApiKey', options.jupiterApiKey),
    network,
    swapFrom: parseSwapFrom(options.swapFrom, network),
    policy: parsePolicy(options.policy ?? {}, network),
    fetch: parseFetch(options.fetch) ?? globalFetch(),
    timeouts: parseTimeouts(options.timeouts ?? {}),
    journal: parsePort('journal', options.journal, JOURNAL_METHODS),
    runtime,
  };
}

/** A fetch to call bare: browsers refuse theirs as a member of another object. Throws `ConfigError` (`invalid_option`). */
export function parseFetch(fetch: unknown): typeof globalThis.fetch | undefined {
  if (fetch === undefined) return undefined;
  if (!isFetch(fetch)) throw refuse('fetch', 'must be a function.');
  return (...args) => fetch(...args);
}

/** The global fetch, looked up at each call: others may wrap it. Throws `ConfigError` (`missing_dependency`) where the runtime has none. */
export function globalFetch(): typeof globalThis.fetch {
  const { fetch, Request } = globalThis as { fetch?: unknown; Request?: unknown }; // Typed as always there; Node before 18 has neither.
  if (typeof fetch === 'function' && typeof Request === 'function') return (...args) => globalThis.fetch(...args);
  throw new ConfigError(
    'missing_dependency',
    'This runtime has no fetch. Use Node 18 or later, or install undici 5 and make its fetch, Request, Response, Headers and FormData global.',
    { details: { packages: ['undici'] } },
  );
}

/** The base address of a service. Throws `ConfigError` (`invalid_option`). */
export function parseServiceUrl(option: string, text: unknown): string {
  const { protocol, hostname, href } = parseBase(option, text);
  if (protocol !== 'https:' && !isLoopback(hostname)) throw refuse(option, 'must start with https://, unless it is on this machine.');
  return href.replace(/\/+$/, '');
}

/** A deadline. Throws `ConfigError` (`invalid_option`). */
export function parseMs(option: string, value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0 || value > 2 ** 31 - 1)
    throw refuse(option, 'must be milliseconds, from 0 to 2147483647.');
  return value;
}

/** Whether an interceptor takes effect at once. Throws `ConfigError` (`invalid_option`). */
export function parseInstall(options: { readonly install?: boolean | undefined }): boolean {
  if (!isRecord(options)) throw refuse('options', 'must be an object.');
  return parseBoolean('install', options.install ?? true);
}

/** A mint's address from an address or pinned symbol. Throws `ConfigError` (`invalid_option`). */
export function parseMint(option: string, mint: unknown, network: string): string {
  return readMint(option, mint, network);
}

function parseSigner({ walletSecretKey, signer }: ClientOptions): Signer {
  if (signer !== undefined && walletSecretKey !== undefined) throw refuse('signer', 'and walletSecretKey exclude each other. Give one.');
  if (signer !== undefined) {
    if (!isRecord(signer) || !isAddress(signer.address) || typeof signer.signMessage !== 'function')
      throw refuse('signer', 'must have an address and a signMessage function.');
    return signer;
  }
  if (walletSecretKey === undefined || walletSecretKey === '')
    throw refuse('walletSecretKey', 'is missing. Give the wallet key, or a signer.');
  return createKeySigner(walletSecretKey);
}

function parseUrl(option: string, text: unknown, protocols: readonly string[]): string {
  let url: URL | undefined;
  try {
    if (typeof text === 'string') url = new URL(text);
  } catch {
    // refused below: the text may hold a key of a provider, so neither it nor the parser's message is repeated
  }
  if (url === undefined || !protocols.includes(url.protocol))
    throw refuse(option, `must be an address that starts with ${protocols.map((one) => `${one}//`).join(' or ')}.`);
  // fetch refuses such an address at each call, in words that repeat it.
  if (url.username !== '' || url.password !== '') throw refuse(option, 'must hold no user name or password: fetch takes no such address.');
  return url.href;
}

function parseRpcUrls({ rpcUrl, connection }: LocalOptions, network: string): readonly string[] {
  if (connection !== undefined) {
    if (rpcUrl !== undefined) throw refuse('connection', 'and rpcUrl exclude each other. Give one.');
    return [];
  }
  const given = rpcUrl ?? PUBLIC_RPC[network];
  const urls: readonly unknown[] = given === undefined ? [] : Array.isArray(given) ? given : [given];
  if (urls.length === 0) throw refuse('rpcUrl', 'must name at least one RPC node for this network.');
  return urls.map((url) => parseUrl('rpcUrl', url, ['http:', 'https:']));
}

function parseApiUrl({ apiUrl, transport }: ClientOptions): string | undefined {
  if (apiUrl === undefined) return undefined;
  if (transport !== undefined) throw refuse('apiUrl', 'and transport exclude each other. Give one.');
  return parseServiceUrl('apiUrl', apiUrl);
}

/** An address that paths are added to. */
function parseBase(option: string, text: unknown): URL {
  const url = new URL(parseUrl(option, text, ['http:', 'https:']));
  if (url.search !== '' || url.hash !== '') throw refuse(option, 'must end with its path: what follows is added to it.');
  return url;
}

function parseJupiterUrl(text: unknown): string {
  const url = parseBase('jupiterUrl', text);
  if (DEAD_JUPITER_HOSTS.includes(url.hostname))
    throw refuse('jupiterUrl', `names ${url.hostname}, which is gone. Use https://api.jup.ag.`);
  return url.href.replace(/\/+$/, '');
}

function parseServiceKey({ apiUrl, apiKey }: ClientOptions): string | undefined {
  const key = parseApiKey('apiKey', apiKey);
  if (key !== undefined && apiUrl === undefined) throw refuse('apiKey', 'is for the service at apiUrl. Give its address too.');
  return key;
}

function parseApiKey(option: string, key: unknown): string | undefined {
  if (key !== undefined && typeof key !== 'string') throw refuse(option, 'must be a string.');
  // An empty key header is answered with 401, no header at all is served.
  const trimmed = key?.trim();
  // A header with anything else is refused at each call, in words that repeat it.
  if (trimmed !== undefined && !/^[\x21-\x7e]*$/.test(trimmed)) throw refuse(option, 'must be visible ASCII, without spaces.');
  return trimmed === '' ? undefined : trimmed;
}

function parseBoolean(option: string, value: unknown): boolean {
  if (typeof value !== 'boolean') throw refuse(option, 'must be true or false.');
  return value;
}

const TIMEOUTS: readonly string[] = ['rpc', 'jupiter', 'service', 'terms', 'payment', 'signer', 'journal'];

function parseTimeouts(timeouts: Timeouts): Required<Timeouts> {
  if (!isRecord(timeouts)) throw refuse('timeouts', 'must be an object.');
  const unknown = Object.keys(timeouts).find((name) => !TIMEOUTS.includes(name));
  if (unknown !== undefined) throw refuse(`timeouts.${unknown}`, 'is not known. Check its spelling.');
  return {
    rpc: parseMs('timeouts.rpc', timeouts.rpc ?? 10_000),
    jupiter: parseMs('timeouts.jupiter', timeouts.jupiter ?? 10_000),
    service: parseMs('timeouts.service', timeouts.service ?? SERVICE_MS),
    terms: parseMs('timeouts.terms', timeouts.terms ?? 10_000),
    payment: parseMs('timeouts.payment', timeouts.payment ?? 120_000),
    signer: parseMs('timeouts.signer', timeouts.signer ?? 120_000),
    journal: parseMs('timeouts.journal', timeouts.journal ?? 10_000),
  };
}

/** A swap request whose mints are addresses and whose amount, mode and slippage are set. */
export interface ResolvedRequest extends SwapRequest {
  readonly amount: string;
  readonly swapMode: SwapMode;
  readonly slippageBps: number;
}

const SWAP_MODES: readonly string[] = ['ExactIn', 'ExactOut'];

/** Checks a swap request and fills in the defaults. Throws `ConfigError` (`invalid_option`). */
export function parseSwapRequest(request: SwapRequest, { network, policy }: Pick<LocalSettings, 'network' | 'policy'>): ResolvedRequest {
  const amount = toAmount(request.amount);
  if (amount === undefined || amount === 0n) throw refuse('amount', 'must be base units above 0, as a bigint or a decimal string.');
  const { swapMode = 'ExactIn', slippageBps = policy.maxSlippageBps, maxAccounts } = request;
  if (!SWAP_MODES.includes(swapMode)) throw refuse('swapMode', 'must be "ExactIn" or "ExactOut".');
  if (!Number.isInteger(slippageBps) || slippageBps < 0 || slippageBps > policy.maxSlippageBps) {
    throw refuse('slippageBps', `must be a whole number from 0 to policy.maxSlippageBps (${policy.maxSlippageBps}).`);
  }
  if (maxAccounts !== undefined && (!Number.isInteger(maxAccounts) || maxAccounts < 1 || maxAccounts > 64)) {
    throw refuse('maxAccounts', 'must be a whole number from 1 to 64.');
  }
  const inputMint = parseMint('inputMint', request.inputMint, network);
  const outputMint = parseMint('outputMint', request.outputMint, network);
  if (inputMint === outputMint) throw refuse('outputMint', 'must be another token than inputMint.');
  return { inputMint, outputMint, amount: amount.toString(), swapMode, slippageBps, ...(maxAccounts === undefined ? {} : { maxAccounts }) };
}

/** Mints to swap from, in order. Throws `ConfigError` (`invalid_option`). */
export function parseSwapFrom(mints: unknown, network: string): readonly string[] | undefined {
  if (mints === undefined) return undefined;
  if (!Array.isArray(mints)) throw refuse('swapFrom', 'must be a list of mint addresses or pinned symbols.');
  return mints.map((mint) => parseMint('swapFrom', mint, network));
}

/** An object of the caller's that has what will be called on it. */
function parsePort<T extends object>(option: string, port: T | undefined, methods: readonly (keyof T & string)[]): T | undefined {
  if (port === undefined) return undefined;
  const missing = isRecord(port) ? methods.find((name) => typeof port[name] !== 'function') : methods[0];
  if (missing !== undefined) throw refuse(option, `must be an object with a method ${missing}.`);
  return port;
}

function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isFetch(value: unknown): value is typeof globalThis.fetch {
  return typeof value === 'function';
}
