import { createClient, SOLANA_MAINNET } from 'exact-change';
import { namedNetwork } from '../../../src/network.js';
import { amountWriter } from '../../amounts.js';
import type { Command } from '../report.js';
import { nodeOptions, readSettings } from '../settings.js';
import { quoteText, readSwapRequest, withoutRaw, type SwapFlags } from './swap-request.js';

/** A quote needs no wallet, and so no key: this address is no wallet. */
const NO_WALLET = {
  address: '1nc1nerator11111111111111111111111111111111',
  signMessage: () => Promise.reject(new TypeError('a quote signs nothing')),
};

/** Shows the price of a swap. Signs nothing. */
export const quoteCommand: Command<SwapFlags> = async ({ terminal, args, flags }) => {
  const settings = readSettings(flags, terminal.env);
  const network = namedNetwork(settings.network ?? '') ?? SOLANA_MAINNET;
  const { policy } = settings;
  const client = createClient({ ...nodeOptions(settings), signer: NO_WALLET, policy });
  try {
    const quote = await client.quote(readSwapRequest(args, flags, network));
    const write = await amountWriter(client, [quote.inputMint, quote.outputMint]);
    return { json: { quote: withoutRaw(quote) }, text: quoteText(quote, write) };
  } finally {
    await client.close();
  }
};
