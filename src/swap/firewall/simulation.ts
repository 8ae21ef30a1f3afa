import { TransactionError, cleanText } from '../../errors.js';
import { SYSTEM_PROGRAM } from '../../network.js';
import { decodeTokenAccount } from '../../solana/accounts.js';
import type { Account, Simulation } from '../../solana/rpc.js';
import type { Address } from '../../solana/types.js';
import type { Floors, TokenFloor } from './guard.js';
import { programErrorName } from './program-errors.js';
import { type Rule, enforce, refusal } from './rule.js';

/** The accounts to watch in a simulation, in the order that {@link checkSimulation} reads them. */
export function watchedAccounts(floors: Floors): Address[] {
  return [floors.wallet, ...floors.tokens.map((token) => token.account.address)];
}

interface TokenAfter {
  readonly floor: TokenFloor;
  readonly wallet: Address;
  readonly after: Account | null;
}

export interface SimulationSubject {
  readonly floors: Floors;
  readonly wallet: Account | null;
  readonly tokens: readonly TokenAfter[];
}

const gone = (account: Account | null): boolean => account === null || (account.lamports === 0n && account.data.length === 0);

function held({ after, floor }: TokenAfter) {
  return after === null || after.owner !== floor.account.tokenProgram ? undefined : decodeTokenAccount(after);
}

function onTokens(id: string, refuses: string, why: string, passes: (token: TokenAfter) => boolean): Rule<SimulationSubject> {
  return { id, refuses, why, passes: ({ tokens }) => tokens.every((token) => (token.floor.closed ? gone(token.after) : passes(token))) };
}

/** What must be true after the simulation, by the accounts alone, whatever the instructions said. */
export const simulationRules: readonly Rule<SimulationSubject>[] = [
  {
    id: 'simulated_wallet',
    refuses: 'the wallet would no longer be a plain account of its own',
    why: 'A wallet that is assigned to another program keeps its balance and can never spend it.',
    passes: ({ wallet }) => wallet !== null && wallet.owner === SYSTEM_PROGRAM && wallet.data.length === 0 && !wallet.executable,
  },
  onTokens(
    'simulated_account',
    'a token account of the wallet would be gone or be another',
    'A venue that may sign for the wallet can close an account and have it made anew, for somebody else.',
    (token) => {
      const after = held(token);
      return after !== undefined && after.mint === token.floor.account.mint && after.state === 'initialized';
    },
  ),
  onTokens(
    'simulated_owner',
    'a token account would belong to somebody else',
    'A change of owner moves no token and shows in no balance.',
    (token) => held(token)?.owner === token.wallet,
  ),
  onTokens(
    'simulated_delegate',
    'somebody else could spend from a token account',
    'An approval is spent later, when nobody looks.',
    (token) => held(token)?.delegate === undefined,
  ),
  onTokens(
    'simulated_close_authority',
    'somebody else could close a token account',
    'Whoever closes a wrapped SOL account gets the SOL in it.',
    (token) => [undefined, token.wallet].includes(held(token)?.closeAuthority),
  ),
  onTokens(
    'simulated_balance',
    'more would be taken, or less paid out, than agreed',
    'Whatever the instruction says, the balances tell what it does.',
    (token) => {
      const after = held(token);
      return after !== undefined && after.amount >= token.floor.least;
    },
  ),
  {
    id: 'simulated_lamports',
    refuses: 'more SOL would be taken than agreed',
    why: 'A venue can transfer SOL with the signature of the wallet, or make it pay for accounts of others.',
    passes: ({ wallet, floors }) => wallet !== null && wallet.lamports >= floors.lamports,
  },
];

/**
 * Judges a simulation of the transaction that is about to be signed. `guardFrom` is the position of the first guard instruction: a
 * failure from there on is the venue's doing (`unsafe_swap`), any other is `simulation_failed`.
 */
export function checkSimulation(simulation: Simulation, floors: Floors, guardFrom: number): void {
  if (simulation.error !== null) throw failed(simulation, guardFrom);
  const [wallet = null, ...tokens] = simulation.accounts;
  enforce(simulationRules, {
    floors,
    wallet,
    tokens: floors.tokens.map((floor, index) => ({ floor, wallet: floors.wallet, after: tokens[index] ?? null })),
  });
}

function failed({ error, logs }: Simulation, guardFrom: number): Error {
  const text = error ?? '';
  const index = /InstructionError\D*(\d+)/.exec(text)?.[1];
  if (index !== undefined && Number(index) >= guardFrom) {
    return refusal({
      id: 'guard',
      refuses: 'the guard at its end stopped it: it takes more than agreed, or changes who controls an account',
    });
  }
  const reason = programErrorName(logs) ?? cleanText(text);
  return new TransactionError('simulation_failed', `The swap fails in simulation (${reason}), so it was not signed. Quote again.`, {
    details: { reason },
  });
}
