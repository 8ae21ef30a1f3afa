import { expect, it } from 'vitest';
import { Fault, shownHost } from '../../../../src/solana/rpc/fault.js';
import { toTransportError } from '../../../../src/solana/rpc/transport-error.js';

it.each([
  ['https://api.mainnet-beta.solana.com', 'api.mainnet-beta.solana.com'],
  ['http://127.0.0.1:8899/?x=1', '127.0.0.1:8899'],
  ['http://[::1]:8899', '[::1]:8899'],
  ['http://localhost:8899', 'localhost:8899'],
  ['https://rpcpool.com/0123-key', 'rpcpool.com'],
  ['https://late-dry-sky-3f9a.solana-mainnet.quiknode.pro/0123/', '*.quiknode.pro'],
  ['https://mainnet.helius-rpc.com/?api-key=0123', '*.helius-rpc.com'],
  ['not an address', undefined],
])('shows the address %s as %s', (url, shown) => {
  expect(shownHost(url)).toBe(shown);
});

it.each(['rate_limited', 'unavailable'] as const)(
  'states the limits of the public node when it is %s',
  (kind) => {
    const fault = new Fault(kind, 'it answered with status 403');
    const message = () => toTransportError(fault, 'getSlot', 500).message;
    expect(message()).not.toContain('public');
    fault.host = 'api.devnet.solana.com';
    expect(message()).toMatch(/^The RPC node \(api\.devnet\.solana\.com\) .* 100 requests in 10 /);
    fault.host = 'api.example.com';
    expect(message()).not.toContain('public');
  },
);
