import { isExactChangeError, SettlementError } from 'exact-change';
import { wrapAxios, type AxiosLike } from 'exact-change/axios';
import { expect, it } from 'vitest';

/** The parts that a wrapped instance gives to the `fetch` adapter of axios. */
function envOf(fetch: typeof globalThis.fetch) {
  const { defaults }: AxiosLike = wrapAxios({ defaults: {} }, { fetch });
  return defaults.env as Pick<typeof globalThis, 'fetch' | 'Request'>;
}

it('gives axios an error whose cause is an error of the library too', async () => {
  const lost = new SettlementError('payment_uncertain', 'The answer was lost.', {
    ...{ details: { payerSignature: 'a', lastValidBlockHeight: '1' }, funds: 'uncertain' },
    ...{ cause: new Error('other side closed'), response: new Response() },
  });
  const { defaults }: AxiosLike = wrapAxios(
    { defaults: {} },
    { fetch: () => Promise.reject(lost) },
  );
  const { fetch } = defaults.env as { readonly fetch: typeof globalThis.fetch };
  const error: unknown = await fetch('https://api.example.com/').catch((given: unknown) => given);
  if (!(error instanceof SettlementError)) throw error;
  expect(error).toMatchObject({ code: 'payment_uncertain', funds: 'uncertain' });
  expect(error.response).toBeUndefined();
  // axios up to 1.13.2 shows the cause of the error that it gets, not that error.
  expect(isExactChangeError(error.cause, 'payment_uncertain')).toBe(true);
});

it('sends a form of axios by the type that its boundary needs', async () => {
  const { Request } = envOf(() => Promise.reject(new Error('not used here')));
  const body = new FormData();
  body.append('question', 'what is the time?');
  // axios gives these types to a form in Node.
  for (const type of ['application/x-www-form-urlencoded', 'multipart/form-data']) {
    const headers = { 'Content-Type': type, 'X-Own': 'kept' };
    const sent = new Request('https://api.example.com/', { method: 'POST', body, headers });
    expect(sent.headers.get('x-own')).toBe('kept');
    expect((await sent.formData()).get('question')).toBe('what is the time?');
  }
  const text = { method: 'POST', body: 'a=b', headers: { 'content-type': 'text/csv' } };
  const { headers } = new Request('https://api.example.com/', text);
  expect(headers.get('content-type')).toBe('text/csv');
});
