import { registerWallet } from '@wallet-standard/wallet';
import { testWallet } from './test-wallet.ts';

// As an extension does, beside the page.
testWallet('Wallet of a test', 'none').then((wallet) => {
  globalThis.walletOfTest = wallet;
  registerWallet(wallet);
});
