// Runs a client on whatever the parent has prepared, and tells what came of it on a pipe of its
// own: what is written to stdout and stderr is not this script's doing.
import { writeSync } from 'node:fs';
import {
  createClient,
  HTTPInterceptor,
  isExactChangeError,
  type ClientOptions,
} from 'exact-change';

interface Task {
  readonly options: ClientOptions;
  readonly url: string;
  readonly times: number;
  readonly how: 'client' | 'interceptor';
  readonly close: boolean;
  /** All calls at once, or each after the one before. */
  readonly together: boolean;
  /** Each call is another purchase, and all have one signal. */
  readonly apart: boolean;
}

// Written by the parent.
const task = JSON.parse(process.argv[2] ?? '') as Task;
const RESULT_PIPE = 3;

const client =
  task.how === 'client' ? createClient(task.options) : new HTTPInterceptor(task.options).client;
const { signal } = new AbortController();

async function buy(count: number): Promise<unknown> {
  const url = task.apart ? `${task.url}?purchase=${count}` : task.url;
  const init = task.apart ? { signal } : {};
  try {
    const response = await (task.how === 'client' ? client.fetch(url, init) : fetch(url, init));
    await response.text();
    return response.status;
  } catch (error) {
    return isExactChangeError(error) ? error.code : String(error);
  }
}

const outcomes: unknown[] = [];
const counts = Array.from({ length: task.times }, (_, count) => count);
if (task.together) outcomes.push(...(await Promise.all(counts.map(buy))));
else for (const count of counts) outcomes.push(await buy(count));
if (task.close) await client.close();
writeSync(RESULT_PIPE, JSON.stringify(outcomes));
