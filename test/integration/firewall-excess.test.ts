import {
  address,
  getBase64Encoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
} from '@solana/kit';
import { inspectSwap, local } from 'exact-change';
import type { MintSymbol } from 'exact-change-sandbox';
import { afterEach, describe, expect, it } from 'vitest';
import { buildForeign } from '../helpers/foreign-swap.js';
import { lying } from '../helpers/lying-service.js';
import { ownAccounts } from '../helpers/own-messages.js';
import { payerOf } from '../helpers/payer.js';
import { landAndExpectFeeOnly, landSigned, landsAndMoves } from '../helpers/traded.js';
import { directions, traderOn } from '../helpers/trader.js';
import { useVenue } from '../helpers/venue.js';

// Lamports of a token account beyond its rent: a venue has the signature of the wallet for
// `WithdrawExcessLamports`, and the guard sees only lamports of the wallet.

const { sandbox, rpc } = await useVenue('firewall-excess');

const EXCESS = 50_000_000n;
const WITHDRAW = 38;

async function traderWithExcess(...symbols: readonly MintSymbol[]) {
  const trader = await traderOn(sandbox, rpc);
  for (const symbol of symbols) sandbox.chain.fundSol(trader.at[symbol], EXCESS);
  return trader;
}

/** A foreign swap of USDC to USDT, with its inspection. */
async function foreign() {
  const wallet = await sandbox.createWallet({ SOL: '0.5', USDC: '20', USDT: '1' });
  const wish = { from: 'USDC', to: 'USDT', amount: 2_000_000n } as const;
  const { transaction, maxIn, minOut } = await buildForeign(sandbox, wallet.address, wish);
  const terms = { inputMint: 'USDC', outputMint: 'USDT', maxInAmount: maxIn, minOutAmount: minOut };
  const inspect = (text = '') =>
    inspectSwap(text, { rpcUrl: sandbox.rpcUrl, wallet: wallet.address, ...terms });
  return { wallet, transaction, inspect };
}

describe('lamports of a token account beyond its rent', () => {
  it.each(['USDC', 'USDT'] as const)(
    'cannot be withdrawn from the %s account by the venue',
    async (symbol) => {
      const trader = await traderWithExcess('USDC', 'USDT');
      const signed = await trader.sign('route_v2', directions['USDC to USDT']);
      const account = sandbox.chain.account(trader.at[symbol]);
      if (account === undefined) throw new Error(`there is no ${symbol} account`);
      const lamports = account.lamports - EXCESS;
      sandbox.chain.setAccount(trader.at[symbol], { ...account, lamports });
      expect(await landAndExpectFeeOnly(sandbox, trader, signed)).toBe('guard');
    },
  );

  it('are in the wallet after a swap', async () => {
    const trader = await traderWithExcess('BONK', 'USDC');
    const { lamports } = trader.holdings().get(trader.address)!;
    const direction = directions['BONK to USDC'];
    const signed = await trader.sign('exact_out_route_v2', direction);
    const { networkFeeLamports, priorityFeeLamports } = signed.expected;
    await landSigned(sandbox, signed);
    const after = trader.holdings().get(trader.address)!;
    expect(after.lamports - lamports).toBe(2n * EXCESS - networkFeeLamports - priorityFeeLamports);
  });

  it('make inspectSwap report guarded: false unless they are withdrawn before the swap', async () => {
    const { wallet, transaction, inspect } = await foreign();
    const { recomposed: plain } = await inspect(transaction);
    expect(await inspect(plain?.transaction)).toMatchObject({ accepted: true, guarded: true });
    sandbox.chain.fundSol((await ownAccounts(sandbox, wallet.address)).USDT, EXCESS);
    const { recomposed, ...verdict } = await inspect(plain?.transaction);
    expect(verdict).toMatchObject({ accepted: true, guarded: false });
    expect(await inspect(recomposed?.transaction)).toMatchObject({ accepted: true, guarded: true });
  });
});

describe('one lamport of a stranger, where a token program is older than the withdrawal', () => {
  /** Returns the position of the withdrawal in a transaction; -1 if there is none. */
  function withdrawalIn(text: string): number {
    const { messageBytes } = getTransactionDecoder().decode(getBase64Encoder().encode(text));
    const message = getCompiledTransactionMessageDecoder().decode(messageBytes);
    if (message.version !== 0) throw new Error('it is no v0 transaction');
    return message.instructions.findIndex(({ data }) => data?.length === 1 && data[0] === WITHDRAW);
  }

  const useOldProgram = () => {
    sandbox.controls.node.intercept = (method, params, next) => {
      const index =
        method === 'simulateTransaction' ? withdrawalIn(String((params as unknown[])[0])) : -1;
      if (index === -1) return next();
      // `InvalidInstruction` of the token program.
      const err = { InstructionError: [index, { Custom: 12 }] };
      const value = { err, logs: [], accounts: null, unitsConsumed: 0, innerInstructions: null };
      return { context: { slot: Number(sandbox.chain.slot) }, value };
    };
  };
  afterEach(() => {
    sandbox.controls.node.intercept = undefined;
  });

  it.each(['USDC', 'USDT'] as const)('on the %s account stops no swap', async (symbol) => {
    const trader = await traderOn(sandbox, rpc);
    sandbox.chain.fundSol(trader.at[symbol], 1n);
    useOldProgram();
    const direction = directions['USDC to USDT'];
    const signed = await trader.sign('route_v2', direction);
    expect(await landsAndMoves(sandbox, trader, direction, signed)).toMatchObject({
      spent: direction.amounts.input,
    });
  });

  it('leaves a swap recomposed and guarded as before', async () => {
    const { wallet, transaction, inspect } = await foreign();
    sandbox.chain.fundSol((await ownAccounts(sandbox, wallet.address)).USDT, 1n);
    useOldProgram();
    const { recomposed } = await inspect(transaction);
    expect(await inspect(recomposed?.transaction)).toMatchObject({ accepted: true, guarded: true });
  });
});

describe('lamports at the address of a token account that does not exist yet', () => {
  it('are in the wallet, beyond the rent, when the venue runs', async () => {
    const trader = await traderWithExcess('PYUSD');
    const { lamports } = trader.holdings().get(trader.address)!;
    const signed = await trader.sign('route_v2', directions['USDC to PYUSD']);
    const { networkFeeLamports, priorityFeeLamports } = signed.expected;
    await landSigned(sandbox, signed);
    const wallet = trader.holdings().get(trader.address)!;
    const made = trader.holdings().get(trader.at.PYUSD)!;
    expect(made.lamports).toBe(await rpc.rent(made.data.length));
    const fees = networkFeeLamports + priorityFeeLamports;
    expect(wallet.lamports - lamports).toBe(EXCESS - made.lamports - fees);
  });

  it('are withdrawn from a new account by the longest swap that the client composes', async () => {
    const wallet = await sandbox.createWallet({ SOL: '0.5' });
    const owner = address(wallet.address);
    await sandbox.chain.fundToken(owner, sandbox.mints.SOL, 10n);
    sandbox.chain.fundSol((await ownAccounts(sandbox, owner)).USDC, EXCESS);
    const honest = local({ rpcUrl: sandbox.rpcUrl, jupiterUrl: sandbox.jupiterUrl });
    const transport = lying(sandbox, honest, 'transaction', {});
    const payer = payerOf(sandbox, wallet, { autoSwap: true, swapFrom: ['SOL'], transport });
    expect((await payer.client.fetch(`${sandbox.apiUrl}/usdc`)).status).toBe(200);
  });
});
