import { PolicyError } from 'exact-change';
import { withClient } from '../client.js';
import { failureReport } from '../failure.js';
import { createInterruption, Interrupted } from '../interrupt.js';
import { createProgress } from '../progress.js';
import type { Command } from '../report.js';
import { askYes, type Terminal } from '../terminal.js';
import { amountWriter } from '../../amounts.js';
import { quoteText, readSwapRequest, type SwapFlags } from './swap-request.js';

/** Swaps without a payment. The person orders this swap, so it counts against no cap. */
export const swapCommand: Command<SwapFlags> = async (invocation) => {
  const { terminal, flags, args } = invocation;
  const interruption = createInterruption(terminal);
  const { signal } = interruption;
  try {
    return await withClient(invocation, async ({ client, network, wallet }) => {
      client.on('*', interruption.listener);
      const request = readSwapRequest(args, flags, network);
      const quote = await client.quote(request, { signal });
      const write = await amountWriter(client, [quote.inputMint, quote.outputMint]);
      if (flags.yes !== true) await approve(terminal, quoteText(quote, write));
      await wallet.unlock();
      const progress = createProgress(terminal, flags.json === true, network);
      progress.step('swapping');
      const swap = await client
        .swap(request, { signal, noWorseThan: quote })
        .finally(() => progress.end());
      const { signature, inputMint, inAmount, outputMint, outAmount, feeLamports } = swap;
      const [given, got] = [write(inputMint, inAmount), write(outputMint, outAmount)];
      return {
        funds: 'swapped',
        json: { swap },
        text: `Swapped ${given} into ${got}, for ${feeLamports} lamports of fees: ${signature}`,
      };
    });
  } catch (error) {
    if (error instanceof Interrupted) return interruption.openReport() ?? failureReport(error);
    throw error;
  } finally {
    interruption.end();
  }
};

async function approve(terminal: Terminal, text: string): Promise<void> {
  terminal.say(text);
  if (!terminal.canAsk) throw refused('There is no terminal to ask on. Give --yes.');
  const answer = await askYes(terminal, 'Swap?');
  if (answer === undefined) throw new Interrupted();
  if (!answer) throw refused('The swap was not approved, so nothing was signed.');
}

function refused(message: string): PolicyError {
  return new PolicyError('approval_refused', message, { details: { reason: 'refused' } });
}
