import { getWallets } from '@wallet-standard/app';
import type { ClientOptions } from 'exact-change';
import { connectWallet } from 'exact-change/wallet-standard';

/** What the page is told of where it runs: `settings.json`. */
export interface Settings {
  readonly rpcUrl: string;
  readonly wsUrl?: string;
  readonly jupiterUrl?: string;
  /** A key for trying the page out, worth nothing. */
  readonly sandboxKey?: string;
  /** What can be bought. */
  readonly samples?: readonly { readonly url: string; readonly description: string }[];
}

/** A way to sign. */
export interface Door {
  readonly name: string;
  /** @param silent - Without asking the person: only what was connected before. */
  signer(silent: boolean): Promise<Pick<ClientOptions, 'signer' | 'walletSecretKey'>>;
}

/** The wallets of this browser that speak the Wallet Standard, and the sandbox's own key. */
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

/** Calls when a wallet appears or goes: extensions announce themselves when they like. */
export function onWallets(listener: () => void): void {
  const wallets = getWallets();
  wallets.on('register', listener);
  wallets.on('unregister', listener);
}
