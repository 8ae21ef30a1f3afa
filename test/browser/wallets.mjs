import { getWallets } from '@wallet-standard/app';
import { registerWallet } from '@wallet-standard/wallet';
import { createClient, receiptOf } from 'exact-change';
import { connectWallet } from 'exact-change/wallet-standard';
import { testWallet } from './test-wallet.ts';

globalThis.walletPage = {
  ...{ getWallets, registerWallet, connectWallet, testWallet, createClient, receiptOf },
};
