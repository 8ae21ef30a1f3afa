import { withClient } from '../client.js';
import type { Command } from '../report.js';
import { amountWriter } from '../../amounts.js';
import { quoteText, readSwapRequest, withoutRaw, type SwapFlags } from './swap-request.js';

/** Shows the price of a swap. Signs nothing. */
export const quoteCommand: Command<SwapFlags> = (invocation) =>
  withClient(invocation, async ({ client, network }) => {
    const { args, flags } = invocation;
    const quote = await client.quote(readSwapRequest(args, flags, network));
    const write = await amountWriter(client, [quote.inputMint, quote.outputMint]);
    return { json: { quote: withoutRaw(quote) }, text: quoteText(quote, write) };
  });
