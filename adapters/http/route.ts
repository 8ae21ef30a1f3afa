import type { Operation } from '../../src/wire/operations.js';
import { readAs, readRequest } from '../../src/wire/read.js';

/** A request that was let in, and until when its answer is of use. */
export interface Asked {
  readonly request: Request;
  readonly signal: AbortSignal;
}

/** An operation, from what a request brought to what is answered. */
export interface Route {
  readonly operation: Operation;
  /** Throws `invalid_option` if the input does not fit, and whatever the work throws. */
  call(input: unknown, asked: Asked): Promise<unknown>;
}

/**
 * An operation, and the function that does it: it is given what the operation takes, and what it
 * gives is answered if the operation promises that.
 */
export function route<Q, A>(
  operation: Operation<Q, A>,
  work: (input: Q, asked: Asked) => Promise<A>,
): Route {
  return {
    operation,
    async call(input, asked) {
      const answer = readAs(operation.response, await work(readRequest(operation, input), asked));
      if (!answer.ok) {
        throw new TypeError(
          `The answer to ${operation.method} ${operation.path} is not what it promises: ${answer.path} ${answer.rule}`,
        );
      }
      return answer.value;
    },
  };
}
