import type { Account } from './accounts.js';
import type { Landed } from './ledger.js';
import { SOL_WORTH, type Token } from './market.js';
import type { Machine, Signed } from './machine.js';
import { SOL, WALLET } from './places.js';
import type { Limit } from './plan.js';

/** What one transaction of the library's took from the wallet, as the chain shows it. */
export interface Out {
  readonly landed: Landed;
  readonly signed: Signed;
  readonly attempt: string;
  readonly host: string;
  /** Billionths of a millionth of a dollar, at what tokens are truly worth. */
  readonly worth: bigint;
  /** Network fees and rent. */
  readonly lamports: bigint;
  /** The same, without the rent that accounts gave back. */
  readonly gross: bigint;
  readonly swaps: bigint;
  readonly payments: bigint;
}

/** Parts of a millionth of a dollar: no rounding hides what a lamport is worth. */
export const FINE = 10n ** 9n;

/** All that left the wallet by the library's signatures, in the order in which it landed. */
export function outsOf(all: readonly Landed[], machine: Machine, tokens: readonly Token[]): Out[] {
  const bySignature = new Map(machine.signed.map((one) => [one.signature, one]));
  return all.flatMap((landed) => {
    const signed = landed.signatures
      .map((one) => bySignature.get(one))
      .find((one) => one !== undefined);
    if (signed === undefined) return [];
    const isPayment = signed.intent.kind === 'payment';
    const attempt = isPayment
      ? machine.paymentsOf.get(signed.signature)
      : machine.swapsOf.get(signed.signature)?.attempt;
    const host =
      signed.intent.kind === 'payment'
        ? new URL(signed.intent.url).host
        : machine.swapsOf.get(signed.signature)?.host;
    return [
      {
        ...{ landed, signed, attempt: attempt ?? '', host: host ?? '' },
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
): Pick<Out, 'worth' | 'lamports' | 'gross'> {
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
    const known = tokens.find(({ mint }) => mint === token.mint);
    const unit = 10n ** BigInt(known?.decimals ?? 0);
    worth += ((less - more) * (known?.worth ?? 0n) * FINE) / unit;
    const kept = restOf(has) - restOf(had);
    rent += kept;
    if (kept > 0n) made += kept;
  });
  const own = message.signers[0] === WALLET ? fee : 0n;
  return {
    worth: worth > 0n ? worth : 0n,
    lamports: own + (rent > 0n ? rent : 0n),
    gross: own + made,
  };
}

function lamportsOf(account: Account | undefined): bigint {
  return account?.lamports ?? 0n;
}

/** Lamports of a token account that are no wrapped SOL. */
function restOf(account: Account | undefined): bigint {
  if (account === undefined) return 0n;
  return account.lamports - (account.token?.mint === SOL ? account.token.amount : 0n);
}

/** What is left of a unit after fees are taken away, if fees have no price. */
export function measure(out: Out, unit: string, countsFees: boolean): bigint {
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
        : 0n;
}

/** In the measure's unit: dollars are finer. */
export function limitOf({ unit, limit }: Pick<Limit, 'unit' | 'limit'>): bigint {
  return unit === 'USD' ? limit * FINE : limit;
}

export function shown(unit: string, value: bigint): string {
  return unit === 'USD' ? `$${(Number(value / 1_000n) / 1e12).toFixed(6)}` : `${value} ${unit}`;
}
