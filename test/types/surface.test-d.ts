import { describe, expectTypeOf, it } from 'vitest';
import {
  createClient,
  isExactChangeError,
  local,
  type LocalTransport,
  receiptOf,
  remote,
  type Client,
  type ClientOptions,
  type ErrorCode,
  type ExactChangeError,
  type FreedReceipt,
  type HTTPInterceptor,
  type Receipt,
  type Signer,
  type Transport,
} from 'exact-change';

declare const caught: unknown;
declare const signer: Signer;

describe('the error types', () => {
  it('narrow by code to the details of that code', () => {
    if (isExactChangeError(caught, 'insufficient_funds')) {
      expectTypeOf(caught.code).toEqualTypeOf<'insufficient_funds'>();
      expectTypeOf(caught.details.required).toEqualTypeOf<string>();
      // @ts-expect-error a detail of another code
      void caught.details.retryAfterMs;
    }
    if (isExactChangeError(caught)) expectTypeOf(caught).toEqualTypeOf<ExactChangeError>();
  });

  it('have a closed set of codes', () => {
    expectTypeOf<'insufficient_funds'>().toExtend<ErrorCode>();
    expectTypeOf<string>().not.toExtend<ErrorCode>();
    // @ts-expect-error the code is misspelt
    isExactChangeError(caught, 'insufficient_fund');
  });

  it('leave a foreign error unknown', () => {
    if (!isExactChangeError(caught)) expectTypeOf(caught).toEqualTypeOf<unknown>();
  });
});

describe('the client type', () => {
  it('has a fetch that is assignable to the global fetch', () => {
    expectTypeOf(createClient).returns.toEqualTypeOf<Client>();
    expectTypeOf<Client['fetch']>().toExtend<typeof globalThis.fetch>();
    expectTypeOf<HTTPInterceptor['fetch']>().toExtend<typeof globalThis.fetch>();
  });

  it('accepts a key or a signer, and rejects misspelt options', () => {
    expectTypeOf<{ walletSecretKey: string }>().toExtend<ClientOptions>();
    expectTypeOf<{ signer: Signer; rpcUrl: string[] }>().toExtend<ClientOptions>();
    // @ts-expect-error the option `autoSwap` is misspelt
    createClient({ signer, autoSwop: true });
    // @ts-expect-error amounts are decimal strings, never numbers
    createClient({ signer, policy: { maxPerPayment: 0.25 } });
  });

  it('accepts the URL of a service, and local and remote return a Transport', () => {
    expectTypeOf<{ signer: Signer; apiUrl: string }>().toExtend<ClientOptions>();
    expectTypeOf(remote).returns.toEqualTypeOf<Transport>();
    expectTypeOf(local).returns.toEqualTypeOf<LocalTransport>();
    expectTypeOf<LocalTransport>().toExtend<Transport>();
    // @ts-expect-error headers are text
    remote('https://pay.example.com', { headers: { 'x-api-key': undefined } });
  });

  it('returns receipts with amounts as strings', () => {
    expectTypeOf(receiptOf).returns.toEqualTypeOf<Receipt | undefined>();
    expectTypeOf<Receipt['payment']['amount']>().toEqualTypeOf<string>();
    expectTypeOf<Client['resume']>().returns.resolves.items.toEqualTypeOf<Receipt | FreedReceipt>();
  });
});
