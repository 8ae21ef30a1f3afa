import {
  AccountRole,
  address,
  isSignerRole,
  isWritableRole,
  type AccountMeta,
  type Address,
} from '@solana/kit';
import type { SwapBuild, SwapQuote, SwapRequest, SwapTransaction, Transport } from 'exact-change';
import type { Sandbox } from 'exact-change-sandbox';
import { PROGRAMS } from '../corpus/addresses.js';
import { instruction, type FilledInstruction } from '../corpus/instructions.js';
import { opened, sealed, type Parts } from './foreign-transaction.js';
import { ownAccounts, type OwnAccounts } from './own-messages.js';

/** The caller that receives the lie. */
export interface Victim {
  readonly sandbox: Sandbox;
  readonly wallet: Address;
  readonly own: OwnAccounts;
}

/** Changes to the answers of a service; answers without a change stay honest. */
export interface Lie {
  readonly quote?: (quote: SwapQuote, request: SwapRequest) => unknown;
  readonly transaction?: (answer: SwapTransaction, victim: Victim, asked: SwapQuote) => unknown;
  readonly instruction?: (build: SwapBuild, victim: Victim) => unknown;
  readonly rest?: Partial<Transport>;
}

/** Form in which the client gets a swap: a transaction that it decodes, or a single instruction. */
export type Way = 'transaction' | 'instruction';
export const WAYS: readonly Way[] = ['transaction', 'instruction'];

/** Wraps an honest service with a lie. The service still builds the swap of its honest quote. */
export function lying(sandbox: Sandbox, honest: Transport, way: Way, lie: Lie): Transport {
  let truth: SwapQuote | undefined;
  const victim = async (wallet: string): Promise<Victim> => ({
    sandbox,
    wallet: address(wallet),
    own: await ownAccounts(sandbox, wallet),
  });
  const transport: Transport = {
    ...honest,
    quote: async (request, options) => {
      truth = await honest.quote(request, options);
      // A lie may break the type, here and below; the client must withstand that.
      return (lie.quote === undefined ? truth : await lie.quote(truth, request)) as SwapQuote;
    },
    buildSwap: async ({ wallet, quote }, options) => {
      const answer = await honest.buildSwap({ wallet, quote: truth ?? quote }, options);
      if (lie.transaction === undefined) return answer;
      return (await lie.transaction(
        answer,
        await victim(wallet),
        truth ?? quote,
      )) as SwapTransaction;
    },
    swapInstruction: async ({ wallet, quote }, options) => {
      const build = await honest.swapInstruction?.({ wallet, quote: truth ?? quote }, options);
      if (build === undefined) throw new Error('The local transport gives the instruction.');
      return (
        lie.instruction === undefined ? build : await lie.instruction(build, await victim(wallet))
      ) as SwapBuild;
    },
    ...lie.rest,
  };
  if (way === 'instruction') return transport;
  const { swapInstruction: _, ...remote } = transport;
  return remote;
}

/**
 * Makes a lie that changes the transaction. It removes the guard after the swap, because a liar
 * would not add a guard.
 */
export function inTransaction(change: (parts: Parts, victim: Victim) => Parts | string): Lie {
  return {
    transaction: (answer, victim) => {
      const parts = opened(victim.sandbox, answer.transaction);
      const end = parts.instructions.findIndex(isSwap) + 1;
      const changed = change({ ...parts, instructions: parts.instructions.slice(0, end) }, victim);
      return { ...answer, transaction: typeof changed === 'string' ? changed : sealed(changed) };
    },
  };
}

/** Makes a lie that changes the swap instruction, alone and within the transaction. */
export function inInstruction(
  change: (swap: FilledInstruction, victim: Victim) => FilledInstruction,
): Lie {
  return {
    ...inTransaction((parts, victim) => ({
      ...parts,
      instructions: parts.instructions.map((instruction) =>
        isSwap(instruction) ? change(instruction, victim) : instruction,
      ),
    })),
    instruction: (build, victim) => ({
      ...build,
      instruction: fromKit(change(toKit(build.instruction), victim)),
    }),
  };
}

const isSwap = ({ programAddress }: FilledInstruction): boolean =>
  programAddress === PROGRAMS.jupiter;

function roleOf({
  signer,
  writable,
}: {
  readonly signer: boolean;
  readonly writable: boolean;
}): AccountRole {
  if (signer) return writable ? AccountRole.WRITABLE_SIGNER : AccountRole.READONLY_SIGNER;
  return writable ? AccountRole.WRITABLE : AccountRole.READONLY;
}

function toKit({ program, accounts, data }: SwapBuild['instruction']): FilledInstruction {
  const metas = accounts.map((meta): AccountMeta => ({
    address: address(meta.address),
    role: roleOf(meta),
  }));
  return instruction(address(program), metas, data);
}

function fromKit({ programAddress, accounts, data }: FilledInstruction): SwapBuild['instruction'] {
  const metas = accounts.map((meta) => ({
    address: meta.address,
    signer: isSignerRole(meta.role),
    writable: isWritableRole(meta.role),
  }));
  return { program: programAddress, accounts: metas, data };
}
