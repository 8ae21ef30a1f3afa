// Makes one call to peers that do not answer, and writes the outcome to pipe 3. It closes nothing,
// because the process must end when the call leaves no timer and no socket.
import { writeSync } from 'node:fs';
import { createClient, isExactChangeError, type ClientOptions } from 'exact-change';

interface Task {
  readonly options: ClientOptions;
  readonly address: string;
  readonly url: string;
  readonly call: 'fetch' | 'pay' | 'plan' | 'swap' | 'quote' | 'balance' | 'warm';
  /** Milliseconds until the caller gives up; `signer`: it gives up when the signer is called. */
  readonly patience?: number | 'signer';
  readonly hangs?: 'signer';
}

// Written by the parent.
const task = JSON.parse(process.argv[2] ?? '') as Task;
const RESULT_PIPE = 3;
const BONK = 'DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263';

const controller = new AbortController();
const never = () => {
  if (task.patience === 'signer') controller.abort('had enough');
  return new Promise<never>(() => undefined);
};
const { walletSecretKey, ...rest } = task.options;
const client = createClient(
  task.hangs === 'signer'
    ? { ...rest, signer: { address: task.address, signMessage: never } }
    : { ...rest, walletSecretKey },
);
const { url } = task;
const signal =
  typeof task.patience === 'number' ? AbortSignal.timeout(task.patience) : controller.signal;
const init = task.patience === undefined ? {} : { signal };
const swap = { inputMint: BONK, outputMint: 'USDC', amount: '100000000000' };

const calls: Record<Task['call'], () => Promise<unknown>> = {
  fetch: async () => (await client.fetch(url, init)).text(),
  pay: async () => {
    const response = await fetch(url);
    try {
      return await client.pay(response, init);
    } finally {
      await response.body?.cancel();
    }
  },
  plan: () => client.plan(url, init),
  swap: () => client.swap(swap, init),
  quote: () => client.quote(swap, init),
  balance: () => client.balance(undefined, init),
  warm: () => client.warm(),
};

const outcome = await calls[task.call]().then(
  () => 'ok',
  (error: unknown) => {
    if (!isExactChangeError(error)) return error instanceof Error ? error.name : String(error);
    // The caller must drop the answer itself, because an endless answer keeps its connection.
    error.response?.body?.cancel().catch(() => undefined);
    return `${error.code} ${error.funds}`;
  },
);
writeSync(RESULT_PIPE, outcome);
