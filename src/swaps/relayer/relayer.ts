import { TransportError } from '../../errors.js';
import { base64 } from '../../internal/bytes.js';
import { createHttp, type HttpPeer } from '../../internal/http.js';
import { parseBase64, parseJson } from '../../internal/parse.js';
import { isRecord, type UnknownRecord } from '../../internal/record.js';
import type { Runtime } from '../../internal/runtime.js';
import { isAddress } from '../../solana/address.js';
import type { Address } from '../../solana/types.js';

export interface RelayerFacts {
  /** Signs as fee payer. */
  readonly feePayer: Address;
  /** Owner of the token accounts that its fees go to. */
  readonly payTo: Address;
  /** The tokens that it takes fees in; undefined if it takes any token. */
  readonly mints: readonly string[] | undefined;
}

/**
 * A service that signs as fee payer, in the words of Kora's JSON-RPC. Its answers are hints: the
 * transaction that it signed is judged before the wallet signs. Rejects with `TransportError`.
 */
export interface Relayer {
  facts(signal: AbortSignal | undefined): Promise<RelayerFacts>;
  /** Returns the fee in base units of a mint, for a transaction as wire bytes. */
  fee(
    transaction: Uint8Array,
    mint: Address,
    facts: RelayerFacts,
    signal: AbortSignal | undefined,
  ): Promise<bigint>;
  /** Returns the transaction as the relayer signed it, in wire bytes. */
  sign(
    transaction: Uint8Array,
    facts: RelayerFacts,
    signal: AbortSignal | undefined,
  ): Promise<Uint8Array>;
}

export interface RelayerSettings {
  readonly url: string;
  readonly apiKey: string | undefined;
  readonly fetch: typeof fetch;
  readonly timeoutMs: number;
  readonly runtime: Runtime;
}

const PEER: HttpPeer = {
  failing: ({ status }, { retryAfterMs }) =>
    status === 429
      ? new TransportError(
          'rate_limited',
          `The relayer is rate limiting this client. Wait ${retryAfterMs} ms.`,
          { details: { retryAfterMs } },
        )
      : unavailable(`The relayer answered ${status}. Try again later.`, status),
  lost: (cause) =>
    unavailable('The relayer could not be reached. Try again, and check relayer.url.', 0, {
      cause,
    }),
  late: (timeoutMs) =>
    new TransportError(
      'timeout',
      `The relayer did not answer within ${timeoutMs} ms. Try again, or raise timeouts.service.`,
      { details: { step: 'relayer', timeoutMs } },
    ),
  tooLong: (limitBytes) => unusable(`it is longer than ${limitBytes} bytes`),
};

/** No honest answer is longer. */
const MAX_BODY_BYTES = 256 * 1024;

/** Creates a relayer that speaks Kora's JSON-RPC; sends no request by itself. */
export function createRelayer(settings: RelayerSettings): Relayer {
  const { url, apiKey, timeoutMs, runtime } = settings;
  const http = createHttp({
    ...{ peer: PEER, fetch: settings.fetch, timeoutMs, runtime },
    ...{ attempts: 1, maxBodyBytes: MAX_BODY_BYTES },
  });
  const call = async (
    method: string,
    params: UnknownRecord | undefined,
    signal: AbortSignal | undefined,
  ): Promise<UnknownRecord> => {
    const response = await http(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(apiKey === undefined ? {} : { 'x-api-key': apiKey }),
      },
      body: JSON.stringify({
        ...{ jsonrpc: '2.0', id: 1, method },
        ...(params === undefined ? {} : { params }),
      }),
      signal: signal ?? null,
    });
    return resultOf(await response.text(), response.status);
  };
  const common = (transaction: Uint8Array, { feePayer }: RelayerFacts) => ({
    transaction: base64.encode(transaction),
    signer_key: feePayer,
    // The wallet's signature is still missing.
    sig_verify: false,
  });
  return {
    async facts(signal) {
      const [payer, config] = await Promise.all([
        call('getPayerSigner', undefined, signal),
        call('getConfig', undefined, signal),
      ]);
      const { signer_address: feePayer, payment_address: payTo } = payer;
      if (!isAddress(feePayer) || !isAddress(payTo)) throw unusable('it names no payer');
      const rules = config['validation_config'];
      const paid = isRecord(rules) ? rules['allowed_spl_paid_tokens'] : undefined;
      return { feePayer, payTo, mints: readMints(paid) };
    },
    async fee(transaction, mint, facts, signal) {
      const params = { ...common(transaction, facts), fee_token: mint };
      const answer = await call('estimateTransactionFee', params, signal);
      checkAddress(answer['signer_pubkey'], facts.feePayer);
      checkAddress(answer['payment_address'], facts.payTo);
      return readFee(answer['fee_in_token']);
    },
    async sign(transaction, facts, signal) {
      const answer = await call('signTransaction', common(transaction, facts), signal);
      const signed = answer['signed_transaction'];
      const bytes = typeof signed === 'string' ? parseBase64(signed) : undefined;
      if (bytes !== undefined) return bytes;
      throw unusable('its transaction is not base64');
    },
  };
}

function resultOf(body: string, status: number): UnknownRecord {
  const answer = parseJson(body);
  const { result, error } = isRecord(answer) ? answer : {};
  if (isRecord(error)) {
    const { message } = error;
    throw unavailable('The relayer refused; its reason is in untrusted.', status, {
      untrusted: { message: isText(message) ? message : '' },
    });
  }
  if (!isRecord(result)) throw unusable('it is no JSON-RPC result');
  return result;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** Reads the tokens of a relayer's rules, which name none if it takes any. */
function readMints(paid: unknown): readonly string[] | undefined {
  if (Array.isArray(paid)) return paid.filter(isText);
  if ((paid ?? 'All') === 'All') return undefined;
  throw unusable('it names no tokens that it takes fees in');
}

function readFee(fee: unknown): bigint {
  // Kora sends a JSON number, which holds only 53 bits.
  if (typeof fee !== 'number' || !Number.isSafeInteger(fee) || fee < 0)
    throw unusable('its fee is no amount');
  return BigInt(fee);
}

function checkAddress(answered: unknown, known: Address): void {
  if (answered !== known) throw unusable('it names another payer than before');
}

function unavailable(
  message: string,
  status: number,
  more: { readonly cause?: unknown; readonly untrusted?: Readonly<Record<string, string>> } = {},
): TransportError<'service_unavailable'> {
  return new TransportError('service_unavailable', message, { details: { status }, ...more });
}

function unusable(reason: string): TransportError<'invalid_response'> {
  return new TransportError(
    'invalid_response',
    `The relayer's answer cannot be used: ${reason}. Try again, and check relayer.url.`,
    { details: { service: 'relayer', reason } },
  );
}
