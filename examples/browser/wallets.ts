import { getWallets } from '@wallet-standard/app';
import type { ClientOptions } from 'exact-change';
import { connectWallet } from 'exact-change/wallet-standard';

/** Settings of the page, from `settings.json`. */
export interface Settings {
  readonly rpcUrl: string;
  readonly wsUrl?: string;
  readonly jupiterUrl?: string;
  /** A worthless key to try the page. */
  readonly sandboxKey?: string;
  /** Goods that the page offers. */
  readonly samples?: readonly { readonly url: string; readonly description: string }[];
}

/** A wallet that can sign. */
export interface Door {
  readonly name: string;
  /** @param silent - True to use only an earlier connection, without a question to the user. */
  signer(silent: boolean): Promise<Pick<ClientOptions, 'signer' | 'walletSecretKey'>>;
}

/** Returns the browser's wallets that support the Wallet Standard, and the sandbox's key. */
export function doors({ sandboxKey }: Settings): Door[] {
  const wallets = getWallets()
    .get()
    .filter(({ features }) => 'solana:signTransaction' in features)
    .map((wallet): Door => ({
      name: wallet.name,
      signer: async (silent) => ({ signer: await connectWallet(wallet, { silent }) }),
    }));
  const own: Door[] =
    sandboxKey === undefined
      ? []
      : [{ name: 'Sandbox key', signer: async () => ({ walletSecretKey: sandboxKey }) }];
  return [...wallets, ...own];
}

/** Calls `listener` when a wallet appears or disappears; extensions may announce it at any time. */
export function onWallets(listener: () => void): void {
  const wallets = getWallets();
  wallets.on('register', listener);
  wallets.on('unregister', listener);
}
