import { EventEmitter } from 'node:events';
import { isExactChangeError, SettlementError } from 'exact-change';
import { wrapAxios, type AxiosLike } from 'exact-change/axios';
import { expect, it, vi } from 'vitest';

/** The parts that a wrapped instance gives to the `fetch` adapter of axios. */
function envOf(fetch: typeof globalThis.fetch) {
  const { defaults }: AxiosLike = wrapAxios({ defaults: {} }, { fetch });
  return defaults.env as Pick<typeof globalThis, 'fetch' | 'FormData' | 'Request'>;
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

it('refuses a stream that fetch would send as its name', () => {
  const { Request, FormData } = envOf(() => Promise.reject(new Error('not used here')));
  expect(new FormData()).toBeInstanceOf(globalThis.FormData);
  // The package form-data, and the streams of Node's first releases, cannot be iterated over.
  const body = Object.assign(new EventEmitter(), { pipe: () => undefined });
  const init = Object.assign({ method: 'POST' }, { body });
  const makeRequest = () =>
    Reflect.construct(Request, ['https://api.example.com/', init]) as unknown;
  expect(makeRequest).toThrow(expect.objectContaining({ code: 'invalid_option' }));
});

it('refuses a stream as a field of a form, which would be sent as its name', () => {
  const form = new (envOf(() => Promise.reject(new Error('not used here'))).FormData)();
  form.append('name', 'Ada');
  form.append('file', new Blob(['a,b']), 'table.csv');
  const append = () => Reflect.apply(form.append, form, ['stream', new EventEmitter()]) as unknown;
  expect(append).toThrow(expect.objectContaining({ code: 'invalid_option' }));
  expect([...form.keys()]).toEqual(['name', 'file']);
});

it('wraps axios in a runtime without forms', () => {
  vi.stubGlobal('FormData', undefined);
  vi.stubGlobal('Request', undefined);
  try {
    expect(Object.keys(envOf(() => Promise.reject(new Error('not used here'))))).toEqual(['fetch']);
  } finally {
    vi.unstubAllGlobals();
  }
});
