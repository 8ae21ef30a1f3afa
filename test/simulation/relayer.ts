import { feeOf } from './execute.js';
import { SOL_WORTH, type Token } from './market.js';
import { rentOf } from './accounts.js';
import { ASSOCIATED, RELAYER, RELAYER_PAYEE, signAsRelayer } from './places.js';
import type { RelayerTrouble } from './plan.js';
import type { Random } from './random.js';
import type { Served } from './seller.js';
import { addressOf, readMessage, readWire, writeWire, type Message } from './wire.js';

/** The simulated relayer: pays fees and rents of swaps, for a fee in tokens. */
export interface Relayer {
  serve(body: string): Served;
  /** Ids of the transactions that it signed, by the message that it was asked to sign, in base64. */
  readonly asked: ReadonlyMap<string, string>;
  /** Returns the bytes that come to the chain: the relayer may sign the same message anew. */
  sends(bytes: Uint8Array): Uint8Array;
}

/** Shares of requests with each fault. */
export type RelayerTroubles = Map<RelayerTrouble, number>;

const TOKEN_ACCOUNT_BYTES = 170;
const MARGIN_PERCENT = 110n;
/** A fee far above what clients allow. */
const DEAR_UNITS = 40_000_000n;

export function createRelayer(
  tokens: readonly Token[],
  troubles: RelayerTroubles,
  random: Random,
): Relayer {
  const asked = new Map<string, string>();
  const isStruck = (what: RelayerTrouble) => random.chance(troubles.get(what) ?? 0);

  /** Returns the price of a transaction in base units of a token. */
  const price = (message: Message, { worth, decimals }: Token): bigint => {
    const made = message.steps.filter(({ program }) => program === ASSOCIATED).length;
    const lamports = feeOf(message) + BigInt(made) * rentOf(TOKEN_ACCOUNT_BYTES);
    // Lamports are billionths of a SOL, and both worths are in millionths of a dollar.
    const cost = lamports * SOL_WORTH * 10n ** BigInt(decimals) * MARGIN_PERCENT;
    const per = worth * 10n ** 9n * 100n;
    return (cost + per - 1n) / per;
  };

  const answers: Readonly<Record<string, (params: Params) => object>> = {
    getPayerSigner: () => ({ signer_address: RELAYER, payment_address: RELAYER_PAYEE }),
    getConfig: () => ({
      validation_config: {
        allowed_spl_paid_tokens: tokens.filter(({ worth }) => worth > 0n).map(({ mint }) => mint),
      },
    }),
    estimateTransactionFee({ transaction, fee_token }) {
      const { message } = readWire(Buffer.from(transaction, 'base64'));
      const token = tokens.find(({ mint, worth }) => mint === fee_token && worth > 0n);
      if (token === undefined || isStruck('refuses')) throw new Refusal('no such fee');
      const fee = isStruck('is dear') ? DEAR_UNITS : price(readMessage(message), token);
      return {
        fee_in_token: Number(fee),
        signer_pubkey: RELAYER,
        payment_address: RELAYER_PAYEE,
      };
    },
    signTransaction({ transaction }) {
      const { message } = readWire(Buffer.from(transaction, 'base64'));
      if (isStruck('refuses')) throw new Refusal('it pays too little');
      const signed = isStruck('changes') ? changed(message, random) : message;
      const signature = signAsRelayer(signed);
      asked.set(Buffer.from(message).toString('base64'), addressOf(signature));
      const wire = writeWire(signed, [signature, new Uint8Array(64)]);
      return { signed_transaction: Buffer.from(wire).toString('base64') };
    },
  };

  return {
    asked,
    serve(body) {
      if (isStruck('is lost')) return 'lost';
      if (isStruck('hangs')) return 'hangs';
      const { method, params } = JSON.parse(body) as { method: string; params: Params };
      const ms = random.int(20, 150);
      try {
        const result = answers[method]?.(params);
        return { ms, response: new Response(JSON.stringify({ jsonrpc: '2.0', id: 1, result })) };
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        const refusal = { code: -32_000, message: error.message };
        return {
          ms,
          response: new Response(JSON.stringify({ jsonrpc: '2.0', id: 1, error: refusal })),
        };
      }
    },
    sends(bytes) {
      const { signatures, message } = readWire(bytes);
      if (readMessage(message).signers[0] !== RELAYER || !isStruck('signs anew')) return bytes;
      // The world does not check signatures of fee payers.
      return writeWire(message, [random.bytes(64), ...signatures.slice(1)]);
    },
  };
}

class Refusal extends Error {}

interface Params {
  readonly transaction: string;
  readonly fee_token: string;
}

/** Returns a message with one other byte, after its header. */
function changed(message: Uint8Array, random: Random): Uint8Array {
  const other = Uint8Array.from(message);
  const at = random.int(4, message.length - 1);
  other[at] = (other[at] ?? 0) ^ (1 << random.int(0, 7));
  return other;
}
