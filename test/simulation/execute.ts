import { rentOf, bytesOf, tokenAccount, type Account, type TokenState } from './accounts.js';
import {
  accountOf,
  ASSOCIATED,
  COMPUTE_BUDGET,
  JUPITER,
  MEMO,
  SOL,
  SYSTEM,
  TOKEN,
  TOKEN_2022,
} from './places.js';
import { readSwap, type SwapCall } from './swap-call.js';
import { u32At, u64At, type Message, type Step } from './wire.js';

/** Returns the amounts that a swap takes and brings, or the error number of the swap program. */
export type Venue = (
  call: SwapCall,
  isSimulated: boolean,
) => { readonly inAmount: bigint; readonly outAmount: bigint } | { readonly error: number };

/** Effect of a transaction. */
export interface Effect {
  /** Error in the form of a node's answer; null if the transaction succeeded. */
  readonly error: object | null;
  readonly fee: bigint;
  /** Changed accounts by address; undefined for a closed account. */
  readonly changes: ReadonlyMap<string, Account | undefined>;
  /** Token transfers of the swap; `outer` is the index of its instruction. */
  readonly inner: readonly InnerTransfer[];
}

export interface InnerTransfer {
  readonly outer: number;
  readonly program: string;
  readonly source: string;
  readonly destination: string;
  readonly authority: string;
  readonly mint: string;
  readonly amount: bigint;
}

const SIGNATURE_LAMPORTS = 5_000n;
const DEFAULT_UNITS = 200_000n;

class Failure extends Error {
  constructor(readonly reason: object | string) {
    super('The instruction fails.');
  }
}

const custom = (number: number): Failure => new Failure({ Custom: number });
const isToken = (program: string): boolean => program === TOKEN || program === TOKEN_2022;

/** Returns the network fee of a message in lamports; a failed transaction costs it too. */
export function feeOf({ signers, steps }: Pick<Message, 'signers' | 'steps'>): bigint {
  let units = DEFAULT_UNITS;
  let price = 0n;
  for (const { program, data } of steps) {
    if (program !== COMPUTE_BUDGET) continue;
    if (data[0] === 2) units = BigInt(u32At(data, 1));
    if (data[0] === 3) price = u64At(data, 1);
  }
  return SIGNATURE_LAMPORTS * BigInt(signers.length) + (units * price + 999_999n) / 1_000_000n;
}

/**
 * Runs a message on the current accounts. If an instruction fails, only the fee is taken. It
 * executes only the instructions that the library signs.
 */
export function execute(
  message: Message,
  read: (address: string) => Account | undefined,
  venue: Venue,
  isSimulated: boolean,
): Effect {
  const fee = feeOf(message);
  const payer = message.signers[0] ?? '';
  const changes = new Map<string, Account | undefined>();
  const current = (address: string): Account | undefined =>
    changes.has(address) ? changes.get(address) : read(address);
  const put = (address: string, account: Account | undefined): void =>
    void changes.set(address, account);

  const paying = current(payer);
  if (paying === undefined || paying.lamports < fee)
    return { error: null, fee: -1n, changes, inner: [] };
  const paid = { ...paying, lamports: paying.lamports - fee };
  put(payer, paid);
  const inner: InnerTransfer[] = [];
  try {
    message.steps.forEach((step, index) => {
      try {
        run(step, index);
      } catch (error) {
        if (error instanceof Failure)
          throw new Failure({ InstructionError: [index, error.reason] });
        throw error;
      }
    });
    message.keys.forEach((address, index) => {
      const after = changes.get(address);
      if (after === undefined || after.lamports === 0n || after.lamports >= rentOf(bytesOf(after)))
        return;
      // An account that was below the rent before may keep its lamports.
      if (after.lamports !== read(address)?.lamports)
        throw new Failure({ InsufficientFundsForRent: { account_index: index } });
    });
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const reason =
      typeof error.reason === 'string' ? { InstructionError: [0, error.reason] } : error.reason;
    return { error: reason, fee, changes: new Map([[payer, paid]]), inner };
  }
  return { error: null, fee, changes, inner };

  function run(step: Step, index: number): void {
    const { program, data } = step;
    if (program === COMPUTE_BUDGET || program === MEMO) return;
    if (program === SYSTEM) return transferLamports(step);
    if (program === ASSOCIATED) return createAccount(step);
    if (program === JUPITER) return swap(step, index);
    if (!isToken(program)) throw new Failure('UnsupportedProgramId');
    switch (data[0]) {
      case 12:
        return transferChecked(step);
      case 5:
      case 6:
        // This world has no delegates and no foreign close authorities, so revoking them changes
        // nothing.
        return void ownedBy(step.accounts[0], step.accounts[1], program);
      case 9:
        return close(step);
      case 17:
        return sync(step);
      default:
        throw new Failure('InvalidInstructionData');
    }
  }

  function signed(address: string | undefined): string {
    if (address === undefined || !message.signers.includes(address))
      throw new Failure('MissingRequiredSignature');
    return address;
  }

  function tokenAt(address: string | undefined, program: string): Account & { token: TokenState } {
    const account = current(address ?? '');
    if (account?.token === undefined) throw new Failure('InvalidAccountData');
    if (account.owner !== program) throw new Failure('IncorrectProgramId');
    return { ...account, token: account.token };
  }

  function ownedBy(
    address: string | undefined,
    authority: string | undefined,
    program: string,
  ): Account & { token: TokenState } {
    const account = tokenAt(address, program);
    if (account.token.owner !== authority) throw custom(4);
    signed(authority);
    return account;
  }

  function transferLamports({ accounts: [from = '', to = ''], data }: Step): void {
    if (u32At(data, 0) !== 2) throw new Failure('InvalidInstructionData');
    const lamports = u64At(data, 4);
    signed(from);
    const source = current(from);
    if (source === undefined || source.lamports < lamports) throw custom(1);
    if (source.owner !== SYSTEM || source.token !== undefined)
      throw new Failure('ExternalAccountLamportSpend');
    put(from, { ...source, lamports: source.lamports - lamports });
    const target = current(to) ?? { lamports: 0n, owner: SYSTEM };
    put(to, { ...target, lamports: target.lamports + lamports });
  }

  function createAccount({
    accounts: [from = '', address = '', owner = '', mint = '', , program = ''],
    data,
  }: Step): void {
    if (data.length !== 1 || data[0] !== 1) throw new Failure('InvalidInstructionData');
    if (accountOf(owner, mint, program) !== address) throw new Failure('InvalidSeeds');
    signed(from);
    const existing = current(address);
    if (existing?.token !== undefined) {
      if (existing.token.owner !== owner || existing.token.mint !== mint)
        throw new Failure('IllegalOwner');
      return;
    }
    if (current(mint)?.mint === undefined || current(mint)?.owner !== program)
      throw new Failure('IncorrectProgramId');
    const fresh = tokenAccount(program, mint, owner, 0n);
    const already = existing?.lamports ?? 0n;
    const missing = already < fresh.lamports ? fresh.lamports - already : 0n;
    const source = current(from);
    if (source === undefined || source.lamports < missing) throw custom(1);
    put(from, { ...source, lamports: source.lamports - missing });
    const lamports = already + missing;
    const amount = mint === SOL ? lamports - fresh.lamports : 0n;
    put(address, { ...fresh, lamports, token: { mint, owner, amount } });
  }

  function transferChecked({
    program,
    accounts: [source = '', mint = '', destination = '', authority],
    data,
  }: Step): void {
    signed(authority);
    if (current(mint)?.mint?.decimals !== data[9]) throw custom(18);
    move(program, { source, destination, authority, mint, amount: u64At(data, 1) });
  }

  function move(
    program: string,
    {
      source,
      destination,
      authority,
      mint,
      amount,
    }: Omit<InnerTransfer, 'outer' | 'program' | 'authority'> & { authority: string | undefined },
  ): void {
    const from = tokenAt(source, program);
    const to = tokenAt(destination, program);
    if (from.token.mint !== mint || to.token.mint !== mint) throw custom(3);
    if (from.token.amount < amount) throw custom(1);
    if (from.token.owner !== authority) throw custom(4);
    if (source === destination) return;
    const lamports = mint === SOL ? amount : 0n;
    put(source, {
      ...from,
      lamports: from.lamports - lamports,
      token: { ...from.token, amount: from.token.amount - amount },
    });
    put(destination, {
      ...to,
      lamports: to.lamports + lamports,
      token: { ...to.token, amount: to.token.amount + amount },
    });
  }

  function close({ program, accounts: [address = '', destination = '', authority] }: Step): void {
    const { lamports, token } = ownedBy(address, authority, program);
    if (token.mint !== SOL && token.amount > 0n) throw custom(11);
    const target = current(destination) ?? { lamports: 0n, owner: SYSTEM };
    put(address, undefined);
    put(destination, { ...target, lamports: target.lamports + lamports });
  }

  function sync({ program, accounts: [address = ''] }: Step): void {
    const account = tokenAt(address, program);
    if (account.token.mint !== SOL) throw custom(19);
    put(address, {
      ...account,
      token: { ...account.token, amount: account.lamports - rentOf(bytesOf(account)) },
    });
  }

  function swap(step: Step, outer: number): void {
    const call = readSwap(step);
    if (call === undefined) throw custom(101);
    signed(call.user);
    const done = venue(call, isSimulated);
    if ('error' in done) throw custom(done.error);
    const { source, destination, vaultIn, vaultOut, authority } = call;
    const taken = {
      source,
      destination: vaultIn,
      authority: call.user,
      mint: call.inputMint,
      amount: done.inAmount,
    };
    const brought = {
      source: vaultOut,
      destination,
      authority,
      mint: call.outputMint,
      amount: done.outAmount,
    };
    inner.push(
      { outer, program: call.inputProgram, ...taken },
      { outer, program: call.outputProgram, ...brought },
    );
    move(call.inputProgram, taken);
    move(call.outputProgram, brought);
  }
}
