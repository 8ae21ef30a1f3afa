import { ProtocolError, parsePaymentRequired, type PaymentRequired } from 'exact-change';
import { approveOnTerminal } from '../approve.js';
import { withClient } from '../client.js';
import { failureReport } from '../failure.js';
import { readInput } from '../input.js';
import { createInterruption } from '../interrupt.js';
import { createProgress } from '../progress.js';
import type { Command } from '../report.js';
import { readUrl } from './curl.js';

export interface PayFlags {
  readonly url: string;
  readonly yes?: boolean;
}

/** Makes the payment for a 402 that another program got, and prints the payment's header. */
export const payCommand: Command<PayFlags> = async (invocation) => {
  const { terminal, flags, args } = invocation;
  const [file = '-'] = args;
  const url = readUrl(flags.url).href;
  const terms = readTerms((await readInput(terminal, file)).toString(), url);
  const interruption = createInterruption(terminal);
  const { signal, abort } = interruption;
  try {
    return await withClient(
      invocation,
      async ({ client }) => {
        client.on('*', interruption.listener);
        const { header, receipt } = await client.pay(terms, { url, signal });
        return {
          // From now on the header can be presented, so the payment may land.
          funds: 'uncertain',
          json: { header, receipt },
          text: `${header.name}: ${header.value}`,
          notes: [
            `It counts as spent until the chain says that it never landed. Present it once, to ${url}.`,
          ],
        };
      },
      ({ wallet, network, settings }) => {
        const progress = createProgress(terminal, flags.json === true, network);
        const approve = approveOnTerminal({
          ...{ terminal, wallet, network, progress, settings, yes: flags.yes, abort },
        });
        return { policy: { approve } };
      },
    );
  } catch (error) {
    if (signal.aborted) return interruption.openReport() ?? failureReport(error);
    throw error;
  } finally {
    interruption.end();
  }
};

/** Reads a 402: as `curl -i` shows it, its body alone, or the value of its header. */
function readTerms(text: string, url: string): PaymentRequired {
  const [, head, body] = /^HTTP\/[\d.]+ +\d+[^\n]*\n([^]*?)\r?\n\r?\n([^]*)$/.exec(text) ?? [];
  const parts =
    head === undefined
      ? /^\s*(?:\{|$)/.test(text)
        ? { body: text }
        : { headers: { 'payment-required': text.trim() } }
      : { headers: headersOf(head), body };
  const terms = parsePaymentRequired({ url, ...parts });
  if (terms !== undefined) return terms;
  throw new ProtocolError(
    'malformed_payment_required',
    'What was given asks for no payment. Give the 402 as `curl -i` shows it, or its body.',
    { details: { reason: 'it has no payment terms' } },
  );
}

function headersOf(head: string): Record<string, string> {
  const pairs = head
    .split(/\r?\n/)
    .map((line) => /^([^:]+):\s*(.*)$/.exec(line))
    .map((match) => [match?.[1] ?? '', match?.[2] ?? ''] as const);
  return Object.fromEntries(pairs.filter(([name]) => name !== ''));
}
