// Runs a client on whatever the parent has prepared, and tells what came of it on a pipe of its own: what is written to stdout
// and stderr is not this script's doing.
import { writeSync } from 'node:fs';
import { createClient, HTTPInterceptor, isExactChangeError, type ClientOptions } from 'exact-change';

interface Task {
  readonly options: ClientOptions;
  readonly url: string;
  readonly times: number;
  readonly how: 'client' | 'interceptor';
  readonly close: boolean;
}

// Written by the parent.
const task = JSON.parse(process.argv[2] ?? '') as Task;
const RESULT_PIPE = 3;

const client = task.how === 'client' ? createClient(task.options) : new HTTPInterceptor(task.options).client;
const buy = (url: string) => (task.how === 'client' ? client.fetch(url) : fetch(url));

const outcomes: unknown[] = [];
for (let count = 0; count < task.times; count += 1) {
  try {
    const response = await buy(task.url);
    await response.text();
    outcomes.push(response.status);
  } catch (error) {
    outcomes.push(isExactChangeError(error) ? error.code : String(error));
  }
}
if (task.close) await client.close();
writeSync(RESULT_PIPE, JSON.stringify(outcomes));
