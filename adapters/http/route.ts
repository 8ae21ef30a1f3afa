import type { Operation } from '../../src/wire/operations.js';
import { readAs, readRequest } from '../../src/wire/read.js';

/** An admitted request, and a signal that fires when its answer is of no more use. */
export interface AdmittedRequest {
  readonly request: Request;
  readonly signal: AbortSignal;
}

/** An operation, and the function that turns the input of a request into an answer. */
export interface Route {
  readonly operation: Operation;
  /** Rejects with `invalid_option` if the input does not fit, or with the error of the work. */
  call(input: unknown, admitted: AdmittedRequest): Promise<unknown>;
}

/**
 * Creates the route of an operation. `work` gets the checked input of the operation; its result
 * becomes the answer if it fits the operation's response.
 */
export function route<Q, A>(
  operation: Operation<Q, A>,
  work: (input: Q, admitted: AdmittedRequest) => Promise<A>,
): Route {
  return {
    operation,
    async call(input, admitted) {
      const answer = readAs(
        operation.response,
        await work(readRequest(operation, input), admitted),
      );
      if (!answer.ok) {
        throw new TypeError(
          `The answer to ${operation.method} ${operation.path} is not what it promises: ${answer.path} ${answer.rule}`,
        );
      }
      return answer.value;
    },
  };
}
