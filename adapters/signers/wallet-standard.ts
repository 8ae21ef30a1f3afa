/**
 * Signers for wallets of the Wallet Standard, such as Phantom, Solflare and Backpack.
 *
 * @module exact-change/wallet-standard
 */
import { refuse } from '../../src/internal/options.js';
import { isRecord } from '../../src/internal/record.js';
import { toNetwork, SOLANA_DEVNET, SOLANA_MAINNET, SOLANA_TESTNET } from '../../src/network.js';
import type { TransactionSigner } from '../../src/solana/signer.js';

export type { SigningIntent, TransactionSigner } from '../../src/solana/signer.js';

/** An account of a wallet, as in the Wallet Standard. */
export interface StandardAccount {
  /** Base58. */
  readonly address: string;
  /** Chains of the account, such as `solana:mainnet`. */
  readonly chains: readonly string[];
}

/** A wallet from `getWallets().get()` of `@wallet-standard/app`. */
export interface StandardWallet {
  readonly name: string;
  readonly accounts: readonly StandardAccount[];
  readonly features: Readonly<Record<string, unknown>>;
}

export interface ConnectOptions {
  /** Network, as in the options of a client; default mainnet. */
  readonly network?: string | undefined;
  /** Connects without asking the person, if the wallet was connected before. Default false. */
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

/** Chain names of the Wallet Standard, by network: it uses names and not genesis hashes. */
const CHAINS: Readonly<Record<string, string>> = {
  [SOLANA_MAINNET]: 'solana:mainnet',
  [SOLANA_DEVNET]: 'solana:devnet',
  [SOLANA_TESTNET]: 'solana:testnet',
};

/**
 * Asks a wallet to connect, and returns the signer of its first account on a network.
 *
 * Rejects with `ConfigError` (`invalid_option`) if the wallet cannot sign transactions of version
 * 0, or has no account on the network. Rejects with the wallet's own error if the person refuses.
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
  const chain = CHAINS[toNetwork(network) ?? ''];
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
 * Returns a signer for an account of a connected wallet.
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
 * Returns the signing feature of a wallet. `solana:signAndSendTransaction` does not help: the
 * seller's facilitator sends a payment, and a swap must be on record before it is sent.
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
