import type { ExactChangeError } from '../../src/errors.js';
import { decodeUtf8 } from '../../src/internal/utf8.js';
import { isDeeper, MAX_DEPTH } from '../../src/internal/depth.js';
import type { Signed } from '../../src/transport.js';
import type { Operation } from '../../src/wire/operations.js';
import { errorOf, PROBLEM_TYPE, unusable } from '../../src/wire/problem.js';
import { readAs } from '../../src/wire/read.js';

/**
 * Returns the answer of a service, if it fits the operation's schema. Rejects with the error of the
 * service's problem, or with `invalid_response`.
 */
export async function answerOf<A>(
  { path, response: schema }: Operation<unknown, A>,
  response: Response,
  sent: Signed | undefined,
): Promise<A> {
  if (response.status !== 200) throw await refusalOf(response, sent);
  const value = await jsonOf(response, 'application/json');
  if (value === undefined) throw unusable('it is not JSON', sent);
  const answer = readAs(schema, value);
  if (answer.ok) return answer.value;
  // Field and rule may contain text of the service, so they are not in the message.
  throw unusable(`it is not what ${path} promises`, sent, {
    field: answer.path,
    rule: answer.rule,
  });
}

async function refusalOf(response: Response, sent: Signed | undefined): Promise<ExactChangeError> {
  const problem = await problemOf(response);
  if (problem === undefined)
    return unusable(
      `it has status ${response.status} and no JSON of a service; check the address`,
      sent,
    );
  return errorOf(problem, { sent });
}

/** Returns the problem JSON of an answer, unchecked; undefined if the answer has none. */
export function problemOf(response: Response): Promise<unknown> {
  return jsonOf(response, PROBLEM_TYPE);
}

async function jsonOf(response: Response, type: string): Promise<unknown> {
  const [contentType = ''] = (response.headers.get('content-type') ?? '').split(';');
  if (contentType.trim().toLowerCase() !== type) return undefined;
  try {
    const text = decodeUtf8(new Uint8Array(await response.arrayBuffer()));
    return isDeeper(text, MAX_DEPTH) ? undefined : JSON.parse(text);
  } catch {
    // Drop the parser's error, because it quotes the service's text.
    return undefined;
  }
}
