import {
  createClient,
  HTTPInterceptor,
  isExactChangeError,
  local,
  type ClientOptions,
} from 'exact-change';
import { afterEach, expect, it, vi } from 'vitest';

const walletSeed = Uint8Array.from({ length: 32 }, (_, index) => index + 1);

afterEach(() => {
  vi.unstubAllGlobals();
});

const makers: readonly (readonly [string, (options: ClientOptions) => unknown])[] = [
  ['createClient', (options) => createClient({ walletSeed, ...options })],
  ['HTTPInterceptor', (options) => new HTTPInterceptor({ walletSeed, install: false, ...options })],
  ['local', (options) => local(options)],
];

it.each(makers)(
  '%s throws missing_dependency in a runtime without fetch, unless the fetch option is set',
  (_, make) => {
    const ownFetch = globalThis.fetch;
    vi.stubGlobal('fetch', undefined);
    let error: unknown;
    try {
      make({});
    } catch (thrown) {
      error = thrown;
    }
    expect(isExactChangeError(error, 'missing_dependency')).toBe(true);
    expect(error).toMatchObject({
      name: 'ConfigError',
      funds: 'untouched',
      moved: [],
      retry: 'never',
      details: { packages: ['undici'] },
    });
    expect(() => make({ fetch: ownFetch })).not.toThrow();
  },
);

it('fails with missing_dependency before it does anything in a runtime without randomness', async () => {
  const cause = new TypeError('getRandomValues is not a function');
  const random = vi.spyOn(globalThis.crypto, 'getRandomValues').mockImplementation(() => {
    throw cause;
  });
  const client = createClient({ walletSeed, rpcUrl: 'http://127.0.0.1:1' });
  const error = await client.balance().catch((thrown: unknown) => thrown);
  random.mockRestore();
  expect(error).toMatchObject({
    code: 'missing_dependency',
    funds: 'untouched',
    retry: 'never',
    details: { packages: ['react-native-get-random-values'] },
    cause,
  });
});
