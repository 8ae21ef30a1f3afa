/**
 * Wallets of people that speak the Wallet Standard: Phantom, Solflare, Backpack and others.
 *
 * @module exact-change/wallet-standard
 */
import { refuse } from '../../src/internal/options.js';
import { isRecord } from '../../src/internal/record.js';
import { namedNetwork, SOLANA_DEVNET, SOLANA_MAINNET, SOLANA_TESTNET } from '../../src/network.js';
import type { TransactionSigner } from '../../src/solana/signer.js';

export type { SigningIntent, TransactionSigner } from '../../src/solana/signer.js';

/** An account of a wallet, as the Wallet Standard has it. */
export interface StandardAccount {
  /** Base58. */
  readonly address: string;
  /** Such as `solana:mainnet`. */
  readonly chains: readonly string[];
}

/** A wallet, as `getWallets().get()` of `@wallet-standard/app` lists them. */
export interface StandardWallet {
  readonly name: string;
  readonly accounts: readonly StandardAccount[];
  readonly features: Readonly<Record<string, unknown>>;
}

export interface ConnectOptions {
  /** As in the options of a client; default mainnet. */
  readonly network?: string | undefined;
  /** Without asking the person: only what was connected before. */
  readonly silent?: boolean | undefined;
}

interface SignTransaction {
  readonly supportedTransactionVersions: readonly unknown[];
  signTransaction(input: {
    readonly account: StandardAccount;
    readonly transaction: Uint8Array;
    readonly chain: string;
  }): Promise<readonly { readonly signedTransaction: Uint8Array }[]>;
}

/** The Wallet Standard names chains, and not their genesis hashes. */
const CHAINS: Readonly<Record<string, string>> = {
  [SOLANA_MAINNET]: 'solana:mainnet',
  [SOLANA_DEVNET]: 'solana:devnet',
  [SOLANA_TESTNET]: 'solana:testnet',
};

/**
 * Asks a wallet to connect, and gives the signer of its first account on a network.
 *
 * Throws `ConfigError` (`invalid_option`) if the wallet cannot sign transactions of version 0, or
 * has no account there. Rejects with what the wallet says if the person refuses.
 *
 * @example
 * const signer = await connectWallet(getWallets().get()[0]);
 * const client = createClient({ signer });
 */
export async function connectWallet(
  wallet: StandardWallet,
  { network = SOLANA_MAINNET, silent = false }: ConnectOptions = {},
): Promise<TransactionSigner> {
  signingOf(wallet);
  const chain = CHAINS[namedNetwork(network) ?? ''];
  if (chain === undefined) throw refuse('network', 'must be mainnet, devnet or testnet.');
  const feature = wallet.features['standard:connect'];
  if (!isRecord(feature) || typeof feature['connect'] !== 'function')
    throw refuse('wallet', 'has no standard:connect. Use a wallet of the Wallet Standard.');
  await Reflect.apply(feature['connect'], feature, [silent ? { silent } : undefined]);
  const account = wallet.accounts.find(({ chains }) => chains.includes(chain));
  if (account === undefined)
    throw refuse('wallet', `gave no account on ${chain}. Choose one in the wallet.`);
  return walletSigner(wallet, account);
}

/**
 * A signer for an account of a wallet that is connected.
 *
 * Throws `ConfigError` (`invalid_option`) if the wallet cannot sign transactions of version 0.
 *
 * @example
 * const client = createClient({ signer: walletSigner(wallet, wallet.accounts[0]) });
 */
export function walletSigner(wallet: StandardWallet, account: StandardAccount): TransactionSigner {
  const signing = signingOf(wallet);
  return {
    address: account.address,
    async signTransaction(transaction, { network }) {
      const chain = CHAINS[network] ?? 'solana:localnet';
      const [signed] = await signing.signTransaction({ account, transaction, chain });
      return signed?.signedTransaction ?? new Uint8Array();
    },
  };
}

/**
 * `solana:signAndSendTransaction` does not do: the seller's facilitator sends a payment, and a swap
 * must be on record before it leaves.
 */
function signingOf({ features }: StandardWallet): SignTransaction {
  const feature = features['solana:signTransaction'];
  if (isSignTransaction(feature) && feature.supportedTransactionVersions.includes(0))
    return feature;
  throw refuse(
    'wallet',
    'cannot sign transactions of version 0 (solana:signTransaction). Use another wallet.',
  );
}

function isSignTransaction(feature: unknown): feature is SignTransaction {
  return (
    isRecord(feature) &&
    Array.isArray(feature['supportedTransactionVersions']) &&
    typeof feature['signTransaction'] === 'function'
  );
}
