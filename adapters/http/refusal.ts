import { serviceProblem, type Problem } from '../../src/wire/problem.js';
import type { ServiceCode } from '../../src/wire/problem-codes.js';

/** Thrown for a request that is refused before it becomes a call. */
export class RequestRefusal extends Error {
  readonly problem: Problem;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ServiceCode,
    detail: string,
    {
      details,
      headers = {},
    }: {
      readonly details?: Record<string, string | number>;
      readonly headers?: Readonly<Record<string, string>> | undefined;
    } = {},
  ) {
    super(detail);
    this.problem = serviceProblem(code, detail, details);
    this.headers = headers;
  }
}

/** Returns the refusal of a request by a caller that the service does not know. */
export function unknownCaller(headers?: Readonly<Record<string, string>>): RequestRefusal {
  return new RequestRefusal(
    'unauthorized',
    'This service does not know the caller. Send the key that its operator gave you.',
    { headers },
  );
}
