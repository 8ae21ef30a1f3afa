import { TransactionError, cleanText } from '../../errors.js';
import { SYSTEM_PROGRAM } from '../../network.js';
import type { Account, Simulation } from '../../solana/rpc/rpc.js';
import { decodeTokenAccount, uncountedLamports } from '../../solana/tokens/decode.js';
import type { Address } from '../../solana/types.js';
import type { SwapDecoder } from '../provider.js';
import { swapErrorName } from './decoders.js';
import type { Floors, TokenFloor } from './guard.js';
import { innerRules } from './inner-rules.js';
import { type Rule, type RuleText, enforce, refusal } from './rule.js';

/** The accounts to watch in a simulation, in the order that {@link checkSimulation} reads them. */
export function watchedAccounts(floors: Floors): Address[] {
  return [floors.wallet, ...floors.tokens.map((token) => token.account.address)];
}

/**
 * When the accounts were read from which the floors follow, and when the transaction was simulated.
 */
interface Slots {
  readonly read: number;
  readonly simulated: number;
}

/**
 * As long as a blockhash lives: what takes longer is asked anew anyway. A node that is slow with
 * one answer is no reason to refuse.
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
  readonly slots: Slots;
  readonly wallet: Account | null;
  readonly tokens: readonly TokenAfter[];
}

const gone = (account: Account | null): boolean =>
  account === null || (account.lamports === 0n && account.data.length === 0);

function held({ after, floor }: TokenAfter) {
  return after === null || after.owner !== floor.account.tokenProgram
    ? undefined
    : decodeTokenAccount(after);
}

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
      tokens.every((token) => (token.floor.closed ? gone(token.after) : passes(token))),
  };
}

/**
 * What must be true after the simulation, by the accounts alone, whatever the instructions said.
 */
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
    // One without lamports is no account at all.
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
      const after = held(token);
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
    (token) => held(token)?.owner === token.wallet,
  ),
  onTokens(
    'simulated_delegate',
    'another key could spend from a token account',
    'An approval can be spent at any later time.',
    (token) => held(token)?.delegate === undefined,
  ),
  onTokens(
    'simulated_close_authority',
    'another key could close a token account',
    'The key that closes a wrapped SOL account gets the SOL in it.',
    (token) => [undefined, token.wallet].includes(held(token)?.closeAuthority),
  ),
  onTokens(
    'simulated_balance',
    'more would be taken, or less paid out, than agreed',
    'Whatever the instruction says, the balances tell what it does.',
    (token) => {
      const after = held(token);
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

/** A transaction that is about to be signed, as its simulation must leave it. */
export interface Simulated {
  /** What knows the errors of each program that may swap. */
  readonly decoders: readonly SwapDecoder[];
  readonly floors: Floors;
  /** The slot at which the accounts were read from which the floors follow. */
  readonly readAt: number;
  /** Position of the instruction that is not ours; undefined if all are. */
  readonly swapAt: number | undefined;
  /** Position of the first guard instruction. */
  readonly guardFrom: number;
}

/** What the rules of the simulation look at. */
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
 * Judges a simulation of the transaction that is about to be signed: a failure of the guard is the
 * venue's doing (`unsafe_swap`), any other is `simulation_failed`.
 */
export function checkSimulation(simulation: Simulation, expected: Simulated): void {
  const { floors, swapAt } = expected;
  if (simulation.error !== null) throw failure(simulation, expected);
  enforce(simulationRules, simulationSubject(simulation, expected));
  if (swapAt === undefined) return;
  const own = floors.tokens.map(({ account }) => account.address);
  enforce(innerRules, { inner: simulation.inner, swapIndex: swapAt, wallet: floors.wallet, own });
}

/**
 * The rule of the guard: it is checked by the chain, in the simulation and again when the
 * transaction lands.
 */
export const guardRule: RuleText = {
  id: 'guard',
  refuses:
    'the guard at its end stopped it: it takes more than agreed, or changes the control of an account',
  why: 'A venue can behave in a simulation and steal when it lands; the guard is a part of the transaction itself, and fails it.',
};

/** Whether it failed in the guard. */
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
    {
      details: { reason },
    },
  );
}
