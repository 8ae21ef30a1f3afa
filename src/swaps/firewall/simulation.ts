import { TransactionError, cleanText } from '../../errors.js';
import { SYSTEM_PROGRAM } from '../../solana/programs.js';
import type { Account, Simulation } from '../../solana/rpc/rpc.js';
import { type TokenAccount, uncountedLamports } from '../../solana/tokens/decode.js';
import type { Address } from '../../solana/types.js';
import type { SwapDecoder } from '../provider.js';
import { decodeHeldAccount } from '../accounts/own-account.js';
import { swapErrorName } from './decoders.js';
import type { Floors, TokenFloor } from './guard.js';
import { innerRules } from './inner-rules.js';
import { type Rule, type RuleText, enforce, refusal } from './rule.js';

/** Returns the accounts to watch in a simulation, in the order of {@link simulationSubject}. */
export function watchedAccounts(floors: Floors): Address[] {
  return [floors.wallet, ...floors.tokens.map((token) => token.account.address)];
}

/**
 * The life of a blockhash, because after that a new transaction is made anyway. A node that is slow
 * with one answer is no reason to refuse.
 */
const MOST_SLOTS_APART = 150;

interface TokenAfter {
  readonly floor: TokenFloor;
  readonly wallet: Address;
  readonly after: Account | null;
}

export interface SimulationSubject {
  readonly error: string | null;
  readonly floors: Floors;
  /** Slot at which the accounts were read that the floors follow from, and of the simulation. */
  readonly slots: { readonly read: number; readonly simulated: number };
  readonly wallet: Account | null;
  readonly tokens: readonly TokenAfter[];
}

const isGone = (account: Account | null): boolean =>
  account === null || (account.lamports === 0n && account.data.length === 0);

/** Decodes the account after the simulation; undefined if it is no token account of its program. */
function decodeAfter({ after, floor }: TokenAfter): TokenAccount | undefined {
  return decodeHeldAccount(after, floor.account.tokenProgram);
}

/** Makes a rule on each token account; an account that the transaction closes must be gone. */
function onTokens(
  id: string,
  refuses: string,
  why: string,
  passes: (token: TokenAfter) => boolean,
): Rule<SimulationSubject> {
  return {
    id,
    refuses,
    why,
    passes: ({ tokens }) =>
      tokens.every((token) => (token.floor.closed ? isGone(token.after) : passes(token))),
  };
}

/** Rules on the accounts after the simulation, whatever the instructions say. */
export const simulationRules: readonly Rule<SimulationSubject>[] = [
  {
    id: 'simulated_success',
    refuses: 'it fails in a simulation',
    why: 'What fails now and lands later does so on a state of the chain that was not looked at.',
    passes: ({ error }) => error === null,
  },
  {
    id: 'simulated_slot',
    refuses: 'it was simulated on another state of the chain than its bounds were read from',
    why: 'What was true of old balances says nothing about new ones: what has arrived in between could be taken.',
    passes: ({ slots }) =>
      slots.simulated >= slots.read && slots.simulated - slots.read <= MOST_SLOTS_APART,
  },
  {
    id: 'simulated_wallet',
    refuses: 'the wallet would no longer be a plain account of its own',
    why: 'A wallet that is assigned to another program keeps its balance and can never spend it.',
    // A wallet without lamports is no account at all.
    passes: ({ wallet, floors }) =>
      wallet === null
        ? floors.lamports === 0n
        : wallet.owner === SYSTEM_PROGRAM && wallet.data.length === 0 && !wallet.executable,
  },
  onTokens(
    'simulated_account',
    'a token account of the wallet would be gone or be another',
    'A venue that may sign for the wallet can close an account and have it made anew, for another owner.',
    (token) => {
      const after = decodeAfter(token);
      return (
        after !== undefined &&
        after.mint === token.floor.account.mint &&
        after.state === 'initialized'
      );
    },
  ),
  onTokens(
    'simulated_owner',
    'a token account would belong to another owner',
    'A change of owner moves no token and shows in no balance.',
    (token) => decodeAfter(token)?.owner === token.wallet,
  ),
  onTokens(
    'simulated_delegate',
    'another key could spend from a token account',
    'An approval can be spent at any later time.',
    (token) => decodeAfter(token)?.delegate === undefined,
  ),
  onTokens(
    'simulated_close_authority',
    'another key could close a token account',
    'The key that closes a wrapped SOL account gets the SOL in it.',
    (token) => [undefined, token.wallet].includes(decodeAfter(token)?.closeAuthority),
  ),
  onTokens(
    'simulated_balance',
    'more would be taken, or less paid out, than agreed',
    'Whatever the instruction says, the balances tell what it does.',
    (token) => {
      const after = decodeAfter(token);
      if (after === undefined || token.after === null) return false;
      return after.amount + uncountedLamports(token.after, after) >= token.floor.least;
    },
  ),
  {
    id: 'simulated_lamports',
    refuses: 'more SOL would be taken than agreed',
    why: 'A venue can transfer SOL with the signature of the wallet, or make it pay for accounts of others.',
    passes: ({ wallet, floors }) => (wallet?.lamports ?? 0n) >= floors.lamports,
  },
];

/** A transaction that is about to be signed, and the floors that its simulation must leave. */
export interface Simulated {
  readonly decoders: readonly SwapDecoder[];
  readonly floors: Floors;
  /** Slot at which the accounts were read that the floors follow from. */
  readonly readAt: number;
  /** Position of the swap; undefined if all instructions are ours. */
  readonly swapAt: number | undefined;
  /** Position of the first guard instruction. */
  readonly guardFrom: number;
}

export function simulationSubject(
  simulation: Simulation,
  { floors, readAt }: Pick<Simulated, 'floors' | 'readAt'>,
): SimulationSubject {
  const [wallet = null, ...tokens] = simulation.accounts;
  return {
    error: simulation.error,
    floors,
    slots: { read: readAt, simulated: simulation.slot },
    wallet,
    tokens: floors.tokens.map((floor, index) => ({
      floor,
      wallet: floors.wallet,
      after: tokens[index] ?? null,
    })),
  };
}

/**
 * Judges the simulation of a transaction that is about to be signed. Throws `unsafe_swap` for a
 * broken rule or a failed guard, because the venue caused it. Throws `simulation_failed` for any
 * other failure.
 */
export function checkSimulation(simulation: Simulation, expected: Simulated): void {
  const { floors, swapAt } = expected;
  if (simulation.error !== null) throw failure(simulation, expected);
  enforce(simulationRules, simulationSubject(simulation, expected));
  if (swapAt === undefined) return;
  const own = floors.tokens.map(({ account }) => account.address);
  enforce(innerRules, { inner: simulation.inner, swapIndex: swapAt, wallet: floors.wallet, own });
}

/** The rule of the guard. The chain checks it in the simulation, and again at the landing. */
export const guardRule: RuleText = {
  id: 'guard',
  refuses:
    'the guard at its end stopped it: it takes more than agreed, or changes the control of an account',
  why: 'A venue can behave in a simulation and steal when it lands; the guard is a part of the transaction itself, and fails it.',
};

export function isGuardFailure({ error }: Simulation, guardFrom: number): boolean {
  const index = /InstructionError\D*(\d+)/.exec(error ?? '')?.[1];
  return index !== undefined && Number(index) >= guardFrom;
}

function failure(
  simulation: Simulation,
  { decoders, guardFrom }: Pick<Simulated, 'decoders' | 'guardFrom'>,
): Error {
  if (isGuardFailure(simulation, guardFrom)) return refusal(guardRule);
  const reason = swapErrorName(decoders, simulation.logs) ?? cleanText(simulation.error ?? '');
  return new TransactionError(
    'simulation_failed',
    `The swap fails in simulation (${reason}), so it was not signed. Quote again.`,
    { details: { reason } },
  );
}
