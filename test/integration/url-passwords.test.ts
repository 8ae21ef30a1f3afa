import { expect, it } from 'vitest';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { failureOf, payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { offerOf } from '../helpers/settling.js';

const sandbox = await useSandbox({ confirmationMs: 20 });
const url = 'http://user:secret-word@127.0.0.1:9/';

it.each(['fetch', 'plan', 'pay'] as const)('is refused unsigned by client.%s', async (method) => {
  const terms = envelopeV2([offerOf(sandbox)]);
  // Bun and Deno send such a request.
  const taking: typeof fetch = async (input, init) =>
    input === url ? Response.json(terms, { status: 402 }) : fetch(input, init);
  const { client, signed } = await payerOn(sandbox, { USDC: '1' }, { fetch: taking });

  const call = method === 'pay' ? client.pay(terms as never, { url }) : client[method](url);
  const error = await failureOf<'invalid_option'>(call, 'invalid_option');
  expect([error.details, error.funds, signed]).toEqual([{ option: 'url' }, 'untouched', []]);
  expect(JSON.stringify(error)).not.toContain('secret-word');
});
