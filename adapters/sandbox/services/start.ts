import { isAddress, type Address } from '@solana/kit';
import { mintAccount } from '../chain/seed.js';
import type { NewMint, Sandbox, SandboxOptions, SandboxWallet } from '../index.js';
import { MINTS, SANDBOX_MINTS, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../mints.js';
import { startNode } from '../node/index.js';
import type { MintSymbol, SandboxMint } from '../types.js';
import { startAggregator } from './aggregator/index.js';
import { startApi } from './api/index.js';
import { startFacilitator } from './facilitator.js';
import { startRelayer } from './relayer.js';
import { baseUnits, KeyRing } from './wallets.js';

/** Lamports of each wallet that pays fees: enough for millions of payments. */
const FEE_BUDGET = 100_000_000_000n;

/** Starts all services. If a service fails to start, it stops the services before it. */
export async function start(options: SandboxOptions): Promise<Sandbox> {
  const started: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    for (const stop of started.splice(0).reverse()) await stop();
  };
  try {
    return await assemble(options, started, close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function assemble(
  options: SandboxOptions,
  started: (() => Promise<void>)[],
  close: () => Promise<void>,
): Promise<Sandbox> {
  const { seed, ...rest } = options;
  const {
    jupiterPort = 0,
    facilitatorPort = 0,
    relayerPort = 0,
    apiPort = 0,
    ...nodeOptions
  } = rest;
  const keys = new KeyRing(seed);
  const node = await startNode(nodeOptions);
  started.push(() => node.close());
  const { chain } = node;

  const [feePayer, merchant, newcomer, relayerKey, cashier] = await Promise.all([
    keys.next('facilitator'),
    keys.next('merchant'),
    keys.next('newcomer'),
    keys.next('relayer'),
    keys.next('cashier'),
  ]);
  for (const payer of [feePayer, relayerKey]) chain.fundSol(payer.signer.address, FEE_BUDGET);
  for (const mint of MINTS)
    for (const payee of [merchant, cashier]) await chain.fundToken(payee.signer.address, mint, 0n);

  const aggregator = await startAggregator({ port: jupiterPort, chain, rpcUrl: node.url });
  started.push(() => aggregator.close());
  const facilitator = await startFacilitator({
    port: facilitatorPort,
    rpcUrl: node.url,
    feePayer: feePayer.signer,
  });
  started.push(() => facilitator.close());
  const relayer = await startRelayer({
    ...{ port: relayerPort, chain, rpcUrl: node.url },
    ...{ wallet: relayerKey, payTo: cashier.signer.address },
  });
  started.push(() => relayer.close());
  const api = await startApi({
    port: apiPort,
    facilitatorUrl: facilitator.url,
    rpcUrl: node.url,
    merchant: merchant.signer.address,
    newcomer: newcomer.signer.address,
    mints: MINTS,
  });
  started.push(() => api.close());

  const createWallet = async (
    funds: Partial<Record<MintSymbol, string>> = {},
  ): Promise<SandboxWallet> => {
    const { signer, secretKey } = await keys.next('wallet');
    for (const mint of MINTS) {
      const uiAmount = funds[mint.symbol];
      if (uiAmount === undefined) continue;
      const amount = baseUnits(uiAmount, mint.decimals);
      if (mint.symbol === 'SOL') chain.fundSol(signer.address, amount);
      else await chain.fundToken(signer.address, mint, amount);
    }
    return { secretKey, address: signer.address };
  };
  let mintCount = 0;
  const createMint = async ({
    decimals,
    picoUsd,
    program,
    authority,
    proceedsTo,
  }: NewMint): Promise<SandboxMint> => {
    if (!Number.isInteger(decimals) || decimals < 0 || decimals > 255)
      throw new RangeError('The decimals of a mint are 0 to 255.');
    if (picoUsd <= 0n) throw new RangeError('The price of a mint must be above zero.');
    const [minter, pool] = [
      optionalAddress(authority, 'authority'),
      optionalAddress(proceedsTo, 'proceedsTo'),
    ];
    const { signer } = await keys.next('mint');
    const tokenProgram = program === 'spl-token-2022' ? TOKEN_2022_PROGRAM : TOKEN_PROGRAM;
    const mint: SandboxMint = {
      symbol: `MINT${(mintCount += 1)}`,
      address: signer.address,
      decimals,
      tokenProgram,
      picoUsd,
    };
    chain.setAccount(
      mint.address,
      mintAccount(mint, (bytes) => chain.rent(bytes), minter),
    );
    await chain.fundToken(merchant.signer.address, mint, 0n);
    await aggregator.list(mint, pool);
    return mint;
  };
  const balance = async (owner: string, of: MintSymbol | SandboxMint): Promise<bigint> => {
    if (!isAddress(owner)) throw new TypeError('The owner is no base58 address.');
    const mint = typeof of === 'string' ? SANDBOX_MINTS[of] : of;
    return mint.symbol === 'SOL'
      ? (chain.account(owner)?.lamports ?? 0n)
      : chain.tokenBalance(owner, mint);
  };

  return {
    rpcUrl: node.url,
    wsUrl: node.wsUrl,
    jupiterUrl: aggregator.url,
    apiUrl: api.url,
    facilitatorUrl: facilitator.url,
    relayerUrl: relayer.url,
    merchant: merchant.signer.address,
    feePayer: feePayer.signer.address,
    mints: SANDBOX_MINTS,
    routes: api.routes,
    chain,
    createWallet,
    createMint,
    balance,
    controls: {
      node: node.controls,
      aggregator: aggregator.controls,
      facilitator: facilitator.controls,
      relayer: relayer.controls,
      api: api.controls,
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function optionalAddress(value: string | undefined, name: string): Address | undefined {
  if (value !== undefined && !isAddress(value))
    throw new TypeError(`The ${name} is no base58 address.`);
  return value;
}
