import { createClient } from 'exact-change';
import { amountWriter } from '../../amounts.js';
import type { Command } from '../report.js';
import { networkOf, nodeOptions, readSettings } from '../settings.js';
import { readOnlySigner } from '../wallet.js';
import { quoteText, readSwapRequest, withoutRaw, type SwapFlags } from './swap-request.js';

/** Shows the price of a swap. Needs no wallet, and so no key. */
export const quoteCommand: Command<SwapFlags> = async ({ terminal, args, flags }) => {
  const settings = readSettings(flags, terminal.env);
  const client = createClient({ ...nodeOptions(settings), signer: readOnlySigner() });
  try {
    const quote = await client.quote(readSwapRequest(args, flags, networkOf(settings)));
    const write = await amountWriter(client, [quote.inputMint, quote.outputMint]);
    return { json: { quote: withoutRaw(quote) }, text: quoteText(quote, write) };
  } finally {
    await client.close();
  }
};
