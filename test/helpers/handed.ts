import { address, type Address } from '@solana/kit';
import { EVENT_AUTHORITY, POOL_AUTHORITY, VENUE } from '../../adapters/sandbox/venue/venue.mjs';
import type { AccountMeta, Instruction } from '../../src/solana/types.js';
import { extractSwap } from '../../src/swaps/firewall/extract.js';
import type { SwapBuild } from '../../src/swaps/provider.js';
import { accountsOf } from './estate.js';
import { type Offer, Trial, type WantedName, wanted, wantedNames } from './trial.js';
import { swapDecoders as decoders } from '../../src/swaps/sources.js';

const ATTACKER = address('Attack1111111111111111111111111111111111112');
const TOKEN = address('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA');

/** Swap instructions of a provider, which a test changes before the client gets them. */
export interface Handed {
  readonly trial: Trial;
  /** The instruction of each form as the aggregator builds it. */
  readonly swaps: Readonly<Record<WantedName, Instruction>>;
  /**
   * Accounts that an attacker would try first: accounts of the wallet, accounts of the attacker,
   * and programs.
   */
  readonly telling: readonly Address[];
  /** Every account that a changed instruction may name. */
  readonly interesting: readonly Address[];
  /**
   * Passes a changed swap to the client. Resolves with false if the client refuses it. If it signs,
   * the trial runs the swap, checks its effects against the deal, and resolves with true.
   */
  hand(name: WantedName, change: (swap: Instruction) => Instruction): Promise<boolean>;
}

export async function handedOn(seed: string): Promise<Handed> {
  const trial = await Trial.open(seed);
  const { sandbox, estate, node } = trial;
  const { chain, mints } = sandbox;
  chain.fundSol(ATTACKER, 1_000_000_000n);
  for (const mint of Object.values(mints)) await chain.fundToken(ATTACKER, mint, 1n);
  const [loot, vaults] = await Promise.all([
    accountsOf(ATTACKER, mints),
    accountsOf(POOL_AUTHORITY, mints),
  ]);
  const builds = new Map<WantedName, { readonly offer: Offer; readonly build: SwapBuild }>();
  for (const name of wantedNames) {
    const offer = await trial.offer(wanted[name]);
    builds.set(name, {
      offer,
      build: await extractSwap(node, offer.bytes, estate.wallet, { decoders }),
    });
  }
  return {
    trial,
    swaps: Object.fromEntries(
      wantedNames.map((name) => [name, builds.get(name)!.build.instruction]),
    ) as Handed['swaps'], // The object has an instruction for each name.
    telling: [
      estate.wallet,
      estate.at.USDC,
      estate.at.SOL,
      estate.others[0]!,
      ATTACKER,
      loot.USDC,
      VENUE,
      TOKEN,
    ],
    interesting: [
      ...[
        estate.wallet,
        ...Object.values(estate.at),
        ...estate.others,
        ATTACKER,
        ...Object.values(loot),
        ...Object.values(vaults),
      ],
      ...[
        ...new Set(Object.values(mints).flatMap((mint) => [mint.address, mint.tokenProgram])),
        VENUE,
        POOL_AUTHORITY,
        EVENT_AUTHORITY,
      ],
      ...[
        address('11111111111111111111111111111111'),
        address('Sysvar1nstructions1111111111111111111111111'),
      ],
    ],
    hand(name, change) {
      const { offer, build } = builds.get(name)!;
      return trial.build(offer, { ...build, instruction: change(build.instruction) });
    },
  };
}

export function withByte(swap: Instruction, at: number, byte: number): Instruction {
  return { ...swap, data: swap.data.map((old, index) => (index === at ? byte : old)) };
}

export function withMeta(swap: Instruction, at: number, change: Partial<AccountMeta>): Instruction {
  return {
    ...swap,
    accounts: swap.accounts.map((meta, index) => (index === at ? { ...meta, ...change } : meta)),
  };
}
