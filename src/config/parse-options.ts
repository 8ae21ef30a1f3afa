import { ConfigError } from '../errors.js';
import { refuse, refuseUnknown } from '../internal/options.js';
import { isRecord } from '../internal/record.js';
import { hideKey } from '../internal/redact.js';
import { systemRuntime, type Runtime } from '../internal/runtime.js';
import { toNetwork, SOLANA_MAINNET } from '../network.js';
import { parsePolicy, POLICY_NAMES } from '../policy/policy.js';
import { readSwapFrom, readUsd, readWhole } from '../policy/read.js';
import {
  parseApiUrl,
  parseJupiterUrl,
  parsePresign,
  parseRpcUrls,
  parseServiceUrl,
  readUrl,
} from './addresses.js';
import {
  LOCAL_NAMES,
  type ClientConfig,
  type ClientOptions,
  type LocalOptions,
  type LocalSettings,
  type RelayerConfig,
  type RelayerOptions,
  type Timeouts,
  type TimeoutSettings,
} from './options.js';
import { parseSigner } from './wallet.js';

const CLIENT_NAMES: readonly (keyof ClientOptions)[] = [
  ...LOCAL_NAMES,
  'walletSecretKey',
  'walletSeed',
  'signer',
  'apiUrl',
  'apiKey',
  'transport',
  'autoSwap',
  'relayer',
  'presign',
  'retryWindow',
  'retries',
  'logger',
];

/** Milliseconds for a call of a service, which may call Jupiter and a node several times. */
export const SERVICE_MS = 30_000;

const TRANSPORT_METHODS = ['quote', 'buildSwap', 'balance', 'parsePayment', 'autoPay'] as const;
const JOURNAL_METHODS = ['reserve', 'put', 'release', 'similar', 'attempts', 'used'] as const;
const CONNECTION_METHODS = ['getGenesisHash', 'getLatestBlockhash', 'sendRawTransaction'] as const;

/**
 * Checks options and fills in the defaults. Throws `ConfigError` (`invalid_option`, `invalid_key`),
 * synchronously.
 */
export function parseOptions(
  options: ClientOptions,
  runtime: Runtime = systemRuntime,
): ClientConfig {
  refuseUnknown(options, CLIENT_NAMES, undefined, { policy: POLICY_NAMES });
  const settings = parseSettings(options, runtime);
  const autoSwap = parseBoolean('autoSwap', options.autoSwap ?? false);
  if (settings.policy.topUp !== undefined && !autoSwap)
    throw refuse('policy.topUp', 'needs autoSwap: true, for it swaps.');
  return {
    ...settings,
    signer: parseSigner(options),
    apiUrl: parseApiUrl(options),
    apiKey: parseServiceKey(options),
    transport: parsePort('transport', options.transport, TRANSPORT_METHODS),
    autoSwap,
    relayer: parseRelayer(options.relayer),
    presign: parsePresign(options.presign ?? false),
    retryWindow: parseMs('retryWindow', options.retryWindow ?? 60_000, 0),
    retries: readWhole('retries', options.retries ?? 2, 10),
    logger: parsePort('logger', options.logger, ['debug'] as const),
  };
}

function parseRelayer(options: RelayerOptions | undefined): RelayerConfig | undefined {
  if (options === undefined) return undefined;
  refuseUnknown(options, ['url', 'apiKey', 'maxFee'], 'relayer');
  return {
    url: parseServiceUrl('relayer.url', options.url),
    apiKey: parseApiKey('relayer.apiKey', options.apiKey),
    maxFee: readUsd('relayer.maxFee', options.maxFee ?? '0.50'),
  };
}

/** As {@link parseOptions}, for a local transport. */
export function parseLocalOptions(
  options: LocalOptions,
  runtime: Runtime = systemRuntime,
): LocalSettings {
  refuseUnknown(options, LOCAL_NAMES, undefined, { policy: POLICY_NAMES });
  const settings = parseSettings(options, runtime);
  if (settings.policy.approve !== undefined)
    throw refuse('policy.approve', 'is for a client: a transport signs nothing, and never asks.');
  return settings;
}

function parseSettings(options: LocalOptions, runtime: Runtime): LocalSettings {
  const name: unknown = options.network ?? SOLANA_MAINNET;
  const network = typeof name === 'string' ? toNetwork(name) : undefined;
  if (network === undefined)
    throw refuse('network', 'must be mainnet, devnet, testnet or a CAIP-2 id.');
  return {
    rpcUrls: parseRpcUrls(options, network),
    wsUrl:
      options.wsUrl === undefined
        ? undefined
        : readUrl('wsUrl', options.wsUrl, ['ws:', 'wss:']).href,
    connection: parsePort('connection', options.connection, CONNECTION_METHODS),
    jupiterUrl: parseJupiterUrl(options.jupiterUrl ?? 'https://api.jup.ag'),
    jupiterApiKey: parseApiKey('jupiterApiKey', options.jupiterApiKey),
    network,
    swapFrom: readSwapFrom(options.swapFrom, network),
    policy: parsePolicy(options.policy ?? {}, network),
    fetch: parseFetch(options.fetch) ?? globalFetch(),
    timeouts: parseTimeouts(options.timeouts ?? {}),
    journal: parsePort('journal', options.journal, JOURNAL_METHODS),
    runtime,
  };
}

/**
 * Returns a fetch that is called bare, because browsers refuse their fetch as a member of an
 * object. Throws `ConfigError` (`invalid_option`).
 */
export function parseFetch(fetch: unknown): typeof globalThis.fetch | undefined {
  if (fetch === undefined) return undefined;
  if (!isFetch(fetch)) throw refuse('fetch', 'must be a function.');
  return (...args) => fetch(...args);
}

/**
 * Returns the global fetch, looked up at each call, because other code may wrap it. Throws
 * `ConfigError` (`missing_dependency`) if the runtime has none.
 */
export function globalFetch(): typeof globalThis.fetch {
  // The types say that both exist, but Node before 18 has neither.
  const { fetch, Request } = globalThis as { fetch?: unknown; Request?: unknown };
  if (typeof fetch === 'function' && typeof Request === 'function')
    return (...args) => globalThis.fetch(...args);
  throw new ConfigError(
    'missing_dependency',
    'This runtime has no fetch. Use Node 18 or later, or make fetch, Request, Response, Headers and FormData of undici 5 global.',
    { details: { packages: ['undici'] } },
  );
}

/**
 * Reads milliseconds. 0 is no limit in other libraries; here a payment would leave, and its answer
 * would come too late. Throws `ConfigError` (`invalid_option`).
 */
export function parseMs(option: string, value: unknown, least = 1): number {
  if (typeof value !== 'number' || !(value >= least && value <= 2 ** 31 - 1))
    throw refuse(
      option,
      `must be milliseconds from ${least} to 2147483647. Leave it out for the default.`,
    );
  return value;
}

/** Whether an interceptor takes effect at once. Throws `ConfigError` (`invalid_option`). */
export function parseInstall(options: { readonly install?: boolean | undefined }): boolean {
  if (!isRecord(options)) throw refuse('options', 'must be an object.');
  return parseBoolean('install', options.install ?? true);
}

function parseServiceKey({ apiUrl, apiKey }: ClientOptions): string | undefined {
  const key = parseApiKey('apiKey', apiKey);
  if (key !== undefined && apiUrl === undefined)
    throw refuse('apiKey', 'is for the service at apiUrl. Give its address too.');
  return key;
}

function parseApiKey(option: string, key: unknown): string | undefined {
  if (key !== undefined && typeof key !== 'string') throw refuse(option, 'must be a string.');
  // Treat an empty key as absent: an empty key header gets a 401, a request without it is served.
  const trimmed = key?.trim();
  // fetch refuses such a header at each call, and its error repeats the key.
  if (trimmed !== undefined && !/^[\x21-\x7e]*$/.test(trimmed))
    throw refuse(option, 'must be visible ASCII, without spaces.');
  if (trimmed === undefined || trimmed === '') return undefined;
  hideKey(trimmed);
  return trimmed;
}

export function parseBoolean(option: string, value: unknown): boolean {
  if (typeof value !== 'boolean') throw refuse(option, 'must be true or false.');
  return value;
}

const TIMEOUTS: TimeoutSettings = {
  rpc: 10_000,
  jupiter: 10_000,
  service: SERVICE_MS,
  terms: 10_000,
  payment: 120_000,
  signer: 120_000,
  journal: 10_000,
};

function parseTimeouts(timeouts: Timeouts): TimeoutSettings {
  refuseUnknown(timeouts, Object.keys(TIMEOUTS), 'timeouts');
  const read = (name: keyof Timeouts) =>
    parseMs(`timeouts.${name}`, timeouts[name] ?? TIMEOUTS[name]);
  return {
    ...{ rpc: read('rpc'), jupiter: read('jupiter'), service: read('service') },
    ...{ terms: read('terms'), payment: read('payment') },
    ...{ signer: read('signer'), journal: read('journal') },
  };
}

/** Checks that an object of the caller has the methods that the client calls. */
function parsePort<T extends object>(
  option: string,
  port: T | undefined,
  methods: readonly (keyof T & string)[],
): T | undefined {
  if (port === undefined) return undefined;
  const missing = isRecord(port)
    ? methods.find((name) => typeof port[name] !== 'function')
    : methods[0];
  const such = option === 'journal' ? ', such as fileJournal(path)' : '';
  if (missing !== undefined)
    throw refuse(option, `must be an object with a method ${missing}${such}.`);
  return port;
}

function isFetch(value: unknown): value is typeof globalThis.fetch {
  return typeof value === 'function';
}
