import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { composePayment } from '../../../../src/payments/execute/sign-payment.js';
import { newWallet, walletOf } from '../../../../src/journal/registry.js';
import { systemRuntime } from '../../../../src/internal/runtime.js';
import { addressOf } from '../../../../src/solana/address.js';
import { associatedTokenAddress } from '../../../../src/solana/tokens/accounts.js';
import { SOLANA_MAINNET, TOKEN_PROGRAM } from '../../../../src/network.js';
import type { Rpc } from '../../../../src/solana/rpc/rpc.js';
import type { Offer } from '../../../../src/protocols/types.js';
import { fakeRpc, refused } from '../reconcile/fake-chain.js';
import { x402Protocol } from '../../../../src/protocols/x402/protocol.js';

const key = (seed: number) => addressOf(new Uint8Array(32).fill(seed));
const payer = key(1);
const mint = key(2);
const payTo = key(3);
const newHash = () => addressOf(Uint8Array.from(randomBytes(32)));
const sellerHash = key(99);

const OFFER: Offer = {
  x402Version: 2,
  network: SOLANA_MAINNET,
  amount: 1_000n,
  mint,
  payTo,
  feePayer: key(4),
  memo: 'order 5',
  takesMemo: true,
  index: 0,
  scheme: 'exact',
  maxTimeoutSeconds: 60,
  raw: {},
};

const facts = {
  source: associatedTokenAddress(payer, mint, TOKEN_PROGRAM),
  destination: associatedTokenAddress(payTo, mint, TOKEN_PROGRAM),
  tokenProgram: TOKEN_PROGRAM,
  decimals: 6,
  available: 1_000_000n,
};

type Core = Parameters<typeof composePayment>[0];
type Choice = Parameters<typeof composePayment>[1];

function coreOf(
  blockhash: string,
  valid: Rpc['isBlockhashValid'] = () => Promise.reject(refused()),
  wallet = newWallet(),
): Core {
  // The parts of a context that composing needs.
  return {
    config: { signer: { address: payer }, runtime: systemRuntime },
    rpc: fakeRpc([], { isBlockhashValid: valid }),
    ...wallet.coordination,
    wallet,
    blockhashes: {
      recent: () => Promise.resolve({ blockhash, lastValidBlockHeight: 700n, slot: 5_000 }),
    },
  } as unknown as Core;
}

const choiceOf = (offer: Partial<Offer> = {}): Choice =>
  ({ protocol: x402Protocol, offer: { ...OFFER, ...offer }, facts }) as unknown as Choice;
const compose = (core: Core, offer: Partial<Offer> = {}) =>
  composePayment(core, choiceOf(offer), { url: 'https://a.test' }, undefined);

describe('the blockhash of a seller', () => {
  it.each([
    ['our node rejects it', () => Promise.resolve({ slot: 5_000, valid: false })],
    ['our node does not answer', () => Promise.reject(refused())],
  ])('is replaced by a blockhash of our node when %s', async (_, valid) => {
    const own = newHash();
    const composed = await compose(coreOf(own, valid), { recentBlockhash: sellerHash });
    expect(composed).toMatchObject({ blockhash: own, lastValidBlockHeight: '700', slot: 4_936 });
  });

  it.each([
    ['at the slot of our blockhash', 5_000, '700'],
    ['at a later slot, by which the chain may have grown', 5_030, '730'],
    ['at an earlier slot', 4_990, '700'],
  ])(
    'is used when our node accepts it %s, with the height limit of our node',
    async (_, slot, lastValidBlockHeight) => {
      const composed = await compose(
        coreOf(newHash(), () => Promise.resolve({ slot, valid: true })),
        { recentBlockhash: sellerHash },
      );
      expect(composed).toMatchObject({ blockhash: sellerHash, lastValidBlockHeight, slot: 4_936 });
    },
  );

  it('is checked while our own blockhash is fetched', async () => {
    const own = newHash();
    let asked = false;
    const core = coreOf(own, () => ((asked = true), Promise.resolve({ slot: 5_000, valid: true })));
    const recent = { blockhash: own, lastValidBlockHeight: 700n, slot: 5_000 };
    const blockhashes = {
      ...core.blockhashes,
      recent: () => Promise.resolve().then(() => (expect(asked).toBe(true), recent)),
    };
    expect(
      (await compose({ ...core, blockhashes }, { recentBlockhash: sellerHash })).blockhash,
    ).toBe(sellerHash);
  });
});

describe('equal payments that carry the memo of the seller', () => {
  const countMessages = async (cores: readonly Core[], count: number) => {
    const messages = new Set<string>();
    for (let index = 0; index < count; index += 1) {
      const core = cores[index % cores.length];
      if (core !== undefined)
        messages.add(Buffer.from((await compose(core)).message).toString('hex'));
    }
    return messages.size;
  };

  it('differ while two clients of a wallet alternate with different blockhashes', async () => {
    const wallet = walletOf(payer, SOLANA_MAINNET);
    for (let window = 0; window < 20; window += 1) {
      expect(
        await countMessages(
          [coreOf(newHash(), undefined, wallet), coreOf(newHash(), undefined, wallet)],
          40,
        ),
      ).toBe(40);
    }
  });

  it('differ when separate wallets plan them', async () => {
    const own = newHash();
    expect(
      await countMessages(
        Array.from({ length: 100 }, () => coreOf(own)),
        100,
      ),
    ).toBe(100);
  });
});
