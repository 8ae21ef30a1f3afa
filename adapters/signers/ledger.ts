/**
 * A signer for a Ledger device, through `@ledgerhq/hw-app-solana` over any of its transports.
 *
 * @module exact-change/signers/ledger
 */
import { addressOf } from '../../src/solana/address.js';
import type { MessageSigner } from '../../src/solana/signer.js';

export type { MessageSigner, SigningIntent } from '../../src/solana/signer.js';

/** The used part of `Solana` of `@ledgerhq/hw-app-solana`. */
export interface LedgerSolanaApp {
  getAddress(path: string): Promise<{ readonly address: Uint8Array }>;
  signTransaction(path: string, message: Uint8Array): Promise<{ readonly signature: Uint8Array }>;
}

/** Path of the first account in most wallets. */
const FIRST_ACCOUNT = "44'/501'/0'";

/**
 * Returns a signer for a key in a Ledger device. The device shows payments in clear. It signs swaps
 * only if blind signing is on in its Solana app, because no device reads lookup tables. Its owner
 * must press the button within `timeouts.signer`.
 *
 * @param path - Derivation path of the key. Default: the first account.
 *
 * @example
 * const app = new Solana(await TransportNodeHid.create());
 * const client = createClient({ signer: await ledgerSigner(app) });
 */
export async function ledgerSigner(
  app: LedgerSolanaApp,
  path: string = FIRST_ACCOUNT,
): Promise<MessageSigner> {
  const { address } = await app.getAddress(path);
  return {
    address: addressOf(Uint8Array.from(address)),
    // `signTransaction` of the app takes only the message of a transaction.
    signMessage: async (message) => (await app.signTransaction(path, message)).signature,
  };
}
