import { isExactChangeError, SettlementError } from 'exact-change';
import { wrapAxios, type AxiosLike } from 'exact-change/axios';
import { expect, it } from 'vitest';

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
