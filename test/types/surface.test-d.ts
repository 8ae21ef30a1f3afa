import { describe, expectTypeOf, it } from 'vitest';
import {
  createClient,
  isExactChangeError,
  local,
  type LocalTransport,
  receiptOf,
  remote,
  settled,
  type AutoPayRequest,
  type Client,
  type ClientOptions,
  type ErrorCode,
  type ExactChangeError,
  type FreedReceipt,
  type HTTPInterceptor,
  type InterceptorOptions,
  type LimitOptions,
  type ListOptions,
  type PaymentRequiredParts,
  type PayingRequestInit,
  type PayOptions,
  type PolicyOptions,
  type Receipt,
  type ReceiptFilter,
  type Signer,
  type SwapOptions,
  type SwapRequest,
  type Timeouts,
  type Transport,
} from 'exact-change';

declare const caught: unknown;
/** An object that sets each field of `T` to undefined. */
type Unset<T> = { [K in keyof T]-?: undefined };
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

  it('accepts undefined for each optional field, as of a variable that is not set', () => {
    expectTypeOf<Unset<InterceptorOptions>>().toExtend<InterceptorOptions>();
    expectTypeOf<Unset<Timeouts>>().toExtend<Timeouts>();
    expectTypeOf<Unset<PolicyOptions>>().toExtend<PolicyOptions>();
    expectTypeOf<Unset<ListOptions>>().toExtend<ListOptions>();
    expectTypeOf<Unset<Omit<LimitOptions, 'per'>> & { per: 'day' }>().toExtend<LimitOptions>();
    expectTypeOf<Unset<ReceiptFilter>>().toExtend<ReceiptFilter>();
    expectTypeOf<Unset<PayOptions>>().toExtend<PayOptions>();
    expectTypeOf<Unset<SwapOptions>>().toExtend<SwapOptions>();
    type Swap = Omit<SwapRequest, 'inputMint' | 'outputMint' | 'amount'>;
    expectTypeOf<Unset<Swap>>().toExtend<Swap>();
    type Purchase = Omit<PayingRequestInit, keyof RequestInit>;
    expectTypeOf<Unset<Purchase>>().toExtend<Purchase>();
    expectTypeOf<Unset<PaymentRequiredParts>>().toExtend<PaymentRequiredParts>();
    type Step = Omit<AutoPayRequest, 'paymentRequired' | 'wallet'>;
    expectTypeOf<Unset<Step>>().toExtend<Step>();
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

  it('finds a call without await when its receipt is asked for', () => {
    expectTypeOf(receiptOf).toBeCallableWith(new Response());
    expectTypeOf(receiptOf).toBeCallableWith<[object]>({});
    // @ts-expect-error -- a promise has no receipt
    receiptOf(Promise.resolve(new Response()));
    // @ts-expect-error -- a promise has no receipt
    void settled(Promise.resolve(new Response()));
  });
});
