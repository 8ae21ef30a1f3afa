import { registerWallet } from '@wallet-standard/wallet';
import { testWallet } from './test-wallet.ts';

// Registers the wallet beside the page, as an extension does.
testWallet('Wallet of a test', 'none').then((wallet) => {
  globalThis.walletOfTest = wallet;
  registerWallet(wallet);
});
