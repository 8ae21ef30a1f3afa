import type { Account } from './accounts.js';
import type { Landed } from './ledger.js';
import { SOL_WORTH, type Token } from './market.js';
import type { Machine, Signed } from './machine.js';
import { SOL, WALLET } from './places.js';
import type { Limit } from './plan.js';

/** A landed transaction of the library, and its cost to the wallet by the chain. */
export interface Spending {
  readonly landed: Landed;
  readonly signed: Signed;
  readonly attempt: string;
  readonly host: string;
  /** Empty if the transaction is for no payee, or if no event told. */
  readonly payee: string;
  /** Loss of the wallet at true token values, in billionths of a millionth of a dollar. */
  readonly worth: bigint;
  /** Network fees and net rent. */
  readonly lamports: bigint;
  /** Network fees and rent of new accounts, without refunds of closed accounts. */
  readonly gross: bigint;
  /** Base units that left, by mint. */
  readonly tokens: ReadonlyMap<string, bigint>;
  readonly swaps: bigint;
  readonly payments: bigint;
}

/** Parts of a millionth of a dollar, fine enough that rounding does not hide a lamport. */
export const MICRO_USD_PARTS = 10n ** 9n;

/** Returns the landed transactions that the wallet signed for the library, in order of landing. */
export function spendingsOf(
  history: readonly Landed[],
  machine: Machine,
  tokens: readonly Token[],
): Spending[] {
  const bySignature = new Map(machine.signed.map((signed) => [signed.signature, signed]));
  return history.flatMap((landed) => {
    const signed = landed.signatures
      .map((signature) => bySignature.get(signature))
      .find((found) => found !== undefined);
    if (signed === undefined) return [];
    const isPayment = signed.intent.kind === 'payment';
    const attempt = isPayment
      ? machine.paymentsOf.get(signed.signature)
      : machine.swapsOf.get(signed.signature)?.attempt;
    const host =
      signed.intent.kind === 'payment'
        ? new URL(signed.intent.url).host
        : machine.swapsOf.get(signed.signature)?.host;
    const payee =
      signed.intent.kind === 'payment'
        ? signed.intent.payTo
        : machine.swapsOf.get(signed.signature)?.payee;
    return [
      {
        ...{ landed, signed, attempt: attempt ?? '', host: host ?? '', payee: payee ?? '' },
        ...taken(landed, tokens),
        swaps: isPayment ? 0n : 1n,
        payments: isPayment && landed.error === null ? 1n : 0n,
      },
    ];
  });
}

function taken(
  { message, before, after, fee }: Landed,
  tokens: readonly Token[],
): Pick<Spending, 'worth' | 'lamports' | 'gross' | 'tokens'> {
  const left = new Map<string, bigint>();
  let worth = 0n;
  let rent = 0n;
  let made = 0n;
  message.keys.forEach((address, index) => {
    const [had, has] = [before[index], after[index]];
    if (address === WALLET) {
      worth += (lamportsOf(had) - lamportsOf(has)) * SOL_WORTH;
      return;
    }
    const token = had?.token ?? has?.token;
    if (token?.owner !== WALLET) return;
    const [less, more] = [had?.token?.amount ?? 0n, has?.token?.amount ?? 0n];
    left.set(token.mint, (left.get(token.mint) ?? 0n) + less - more);
    const known = tokens.find(({ mint }) => mint === token.mint);
    const unit = 10n ** BigInt(known?.decimals ?? 0);
    worth += ((less - more) * (known?.worth ?? 0n) * MICRO_USD_PARTS) / unit;
    const kept = rentIn(has) - rentIn(had);
    rent += kept;
    if (kept > 0n) made += kept;
  });
  // A relayer pays the fee and the rents of its transactions.
  const paid =
    message.signers[0] === WALLET
      ? { lamports: fee + (rent > 0n ? rent : 0n), gross: fee + made }
      : { lamports: 0n, gross: 0n };
  return { worth: worth > 0n ? worth : 0n, tokens: left, ...paid };
}

function lamportsOf(account: Account | undefined): bigint {
  return account?.lamports ?? 0n;
}

/** Returns the lamports of a token account that are not wrapped SOL. */
function rentIn(account: Account | undefined): bigint {
  if (account === undefined) return 0n;
  return account.lamports - (account.token?.mint === SOL ? account.token.amount : 0n);
}

/** Returns the cost of a transaction in a cap's unit; dollars leave out fees without a price. */
export function measure(out: Spending, unit: string, countsFees: boolean): bigint {
  if (unit === 'USD') {
    const worth = countsFees ? out.worth : out.worth - out.lamports * SOL_WORTH;
    return worth > 0n ? worth : 0n;
  }
  return unit === 'lamports'
    ? out.lamports
    : unit === 'swaps'
      ? out.swaps
      : unit === 'payments'
        ? out.payments
        : atLeast0(out.tokens.get(unit) ?? 0n);
}

function atLeast0(value: bigint): bigint {
  return value > 0n ? value : 0n;
}

/** Returns the limit in the unit of {@link measure}, which counts dollars in finer parts. */
export function limitOf({ unit, limit }: Pick<Limit, 'unit' | 'limit'>): bigint {
  return unit === 'USD' ? limit * MICRO_USD_PARTS : limit;
}

export function shown(unit: string, value: bigint): string {
  return unit === 'USD' ? `$${(Number(value / 1_000n) / 1e12).toFixed(6)}` : `${value} ${unit}`;
}
