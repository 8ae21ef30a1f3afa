import { open } from 'node:fs/promises';
import {
  formatReceipt,
  isExactChangeError,
  receiptOf,
  type Client,
  type Funds,
  type PayingRequestInit,
  type Receipt,
} from 'exact-change';
import {
  EARLIER_TEXT,
  earlierPayment,
  fundsOf,
  settledSoon,
  type Earlier,
} from '../../receipts/outcome.js';
import { approveOnTerminal } from '../approve.js';
import { withClient } from '../client.js';
import { failureReport } from '../failure.js';
import { createInterruption, Interrupted, type Interruption } from '../interrupt.js';
import { planText } from '../plan-text.js';
import { createProgress, type Progress } from '../progress.js';
import type { Command, Invocation, Report } from '../report.js';
import { bodyJson, dropAnswer, headText, intoFile, intoStdout, type Sink } from './answer.js';
import { readRequest, readUrl, type RequestFlags } from './curl.js';

/** Milliseconds that the body of a paid answer has after Ctrl-C. */
const BODY_MS = 3_000;

export interface FetchFlags extends RequestFlags {
  readonly output?: string;
  readonly include?: boolean;
  readonly fail?: boolean;
  readonly silent?: boolean;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
  readonly idempotencyKey?: string;
  readonly repeatable?: boolean;
}

/** Makes a paid call. The answer goes to standard output, all else to standard error. */
export const fetchCommand: Command<FetchFlags> = async (invocation) => {
  const { terminal, flags, args } = invocation;
  const [address = ''] = args;
  const isSilent = flags.silent === true || flags.json === true;
  const url = readUrl(address);
  const request = await readRequest(flags, terminal);
  // Open the file before any payment: an answer that cannot be written is lost.
  const { output = '-' } = flags;
  const file = output === '-' ? undefined : await open(output, 'a');
  const sink = file === undefined ? intoStdout(terminal) : await intoFile(file);
  const interruption = createInterruption(terminal);
  const { signal, abort } = interruption;
  const call = { url, sink, init: { ...request, signal, ...purchaseOf(flags) } };
  let progress: Progress | undefined;
  try {
    return await withClient(
      invocation,
      async ({ client, network }) => {
        client.on('*', interruption.listener);
        if (progress !== undefined) client.on('*', progress.listener);
        progress?.step(`asking ${call.url.host}`);
        if (flags.dryRun !== true) return pay(client, call, invocation, interruption);
        const plan = await client.plan(call.url, call.init).catch(dropAnswer);
        return { json: { plan }, text: planText(plan, network) };
      },
      ({ wallet, network, settings }) => {
        progress = createProgress(terminal, isSilent, network);
        const approve = approveOnTerminal({
          ...{ terminal, wallet, network, progress, settings, yes: flags.yes, abort },
        });
        return { policy: { approve } };
      },
    );
  } finally {
    progress?.end();
    interruption.end();
    await file?.close();
  }
};

const purchaseOf = ({ idempotencyKey, repeatable }: FetchFlags): PayingRequestInit => ({
  ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  ...(repeatable === undefined ? {} : { repeatable }),
});

interface Call {
  readonly url: URL;
  readonly init: PayingRequestInit;
  readonly sink: Sink;
}

async function pay(
  client: Client,
  { url, init, sink }: Call,
  { flags }: Invocation<FetchFlags>,
  interruption: Interruption,
): Promise<Report> {
  const { signal } = interruption;
  const findEarlier = (address: string) => earlierPayment(client, address, init.method ?? 'GET');
  const call = new AbortController();
  const end = () => call.abort(signal.reason);
  if (signal.aborted) end();
  signal.addEventListener('abort', end);
  const reportOf = async (answer: Response, body?: object, receipt?: Receipt): Promise<Report> => {
    const report = answered(answer, body, receipt, flags);
    if (receipt !== undefined || answer.status < 400) return report;
    const earlier = await findEarlier(answer.url);
    return earlier === undefined ? report : after(earlier, report);
  };
  let response: Response | undefined;
  let timer: NodeJS.Timeout | undefined;
  try {
    response = await client.fetch(url, { ...init, signal: call.signal }).catch(dropAnswer);
    // With -o, the file gets the body, and the JSON object has none.
    if (flags.json === true && (flags.output ?? '-') === '-') {
      // An answer counts as delivered once it is read, and --json prints it at the end. A command
      // that is killed in the wait for the chain must not have read it. Ctrl-C ends only the wait,
      // and gives a body that may never end a little time.
      signal.removeEventListener('abort', end);
      await settledSoon(response, signal);
      if (signal.aborted) timer = setTimeout(end, BODY_MS);
      else signal.addEventListener('abort', end);
      return await reportOf(response, await bodyJson(response), receiptOf(response));
    }
    if (flags.include === true) await sink.write(headText(response));
    const body = await sink.pipe(response);
    return await reportOf(response, body, await settledSoon(response, signal));
  } catch (error) {
    const receipt = response === undefined ? undefined : await settledSoon(response, signal);
    if (receipt !== undefined) return withoutAnswer(error, receipt);
    // An error of the library knows more than the interruption.
    if (isExactChangeError(error)) return failureReport(error);
    const open = interruption.openReport();
    if (open !== undefined) return open;
    const earlier = await findEarlier(url.href);
    return earlier === undefined
      ? failureReport(error)
      : { ...after(earlier, withoutOutcome(error)), exit: earlier };
  } finally {
    clearTimeout(timer);
  }
}

function answered(
  response: Response,
  body: object | undefined,
  receipt: Receipt | undefined,
  flags: FetchFlags,
): Report {
  const { status, headers, url } = response;
  const isUnpaid = status === 402 && receipt === undefined;
  const exit = flags.fail === true && status >= 400 ? 'httpError' : isUnpaid ? 'short' : 'done';
  const unpaid = 'It asks for payment in no form that can be paid here (402 without x402 terms).';
  const failed = exit === 'httpError' ? [`The seller answered with status ${status}.`] : [];
  return {
    exit,
    funds: fundsOf(receipt),
    json: { url, status, headers: Object.fromEntries(headers), ...body, receipt },
    notes: [
      ...(isUnpaid ? [unpaid] : failed),
      ...(receipt === undefined || flags.silent === true ? [] : [formatReceipt(receipt)]),
    ],
  };
}

const WHAT_LEFT: Readonly<Record<Funds, string>> = {
  untouched: 'Nothing was paid',
  swapped: 'Tokens were swapped, nothing was paid',
  uncertain: 'What was signed may still land (exact-change resume asks the chain)',
  spent: 'It was paid',
};

/** Returns the report of a failed call after an {@link Earlier} call to the same address. */
function after(earlier: Earlier, report: Report): Report {
  const next = 'Run exact-change resume, which asks the chain, before you buy elsewhere.';
  const notes = [...(report.notes ?? []), `${EARLIER_TEXT[earlier]} ${next}`];
  return { ...report, funds: earlier, notes };
}

/** As `failureReport`, for a failed call that may be paid. */
function withoutOutcome(error: unknown): Report {
  // Ctrl-C itself says that nothing was signed.
  return failureReport(error instanceof Interrupted ? new Interrupted('Interrupted.') : error);
}

/** Returns the report of a call with a payment and an incomplete answer. */
function withoutAnswer(error: unknown, receipt: Receipt): Report {
  const { exit = 'failed', json, notes = [] } = withoutOutcome(error);
  const funds = fundsOf(receipt);
  const outcome = `${WHAT_LEFT[funds]}, and the answer did not come whole.`;
  return {
    ...{ exit: funds === 'untouched' ? exit : funds, funds },
    json: { ...json, receipt },
    notes: [...notes, outcome, formatReceipt(receipt)],
  };
}
