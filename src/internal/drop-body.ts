import { isStream } from './kept-body.js';

/** Reason for cancelling a body: without one, Node makes an error with a stack each time. */
const NOT_READ = 'not read';

/** Cancels the body of a response that nothing reads, because it would keep its connection. */
export function dropBody(response: Response | undefined): void {
  if (isStream(response?.body)) response.body.cancel(NOT_READ).catch(() => undefined);
}
