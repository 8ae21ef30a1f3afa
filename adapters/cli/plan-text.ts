import type { CapUse, Plan } from 'exact-change';
import { amountText, solText } from '../../src/token-text.js';
import { cleanLine } from './clean.js';

/** Returns the cost of a planned payment, in lines for the person that approves it. */
export function planText(plan: Plan, network: string): string {
  const { payment, swap, wrap, cost, refused, maxFeeLamports } = plan;
  const call = `${plan.method} ${cleanLine(plan.url)}`;
  if (payment === undefined) return `${call} asks for no payment (status ${plan.status}).`;
  const { mint, amount, decimals, usd, payTo, available } = payment;
  const inToken = (units: string) => amountText(network, mint, BigInt(units), decimals);
  const rows: (readonly [string, string] | undefined)[] = [
    ['price', `${inToken(amount)}${usd === undefined ? '' : ` (${usd} USD)`}`],
    ['to', payTo],
    ['wallet', `can spend ${inToken(available)}`],
    swap && ['swap', swapText(swap, network)],
    wrap === undefined ? undefined : ['wrap', solText(BigInt(wrap))],
    maxFeeLamports === '0' ? undefined : ['fees', `at most ${solText(BigInt(maxFeeLamports))}`],
    [
      'in all',
      cost?.usd === undefined
        ? 'not known in dollars; only caps in base units and lamports bound it'
        : `at most ${cost.usd} USD`,
    ],
    ...plan.caps.map((cap) => ['cap', capText(cap)] as const),
    ...refused.map(({ message }) => ['not taken', message] as const),
  ];
  const lines = rows.flatMap((row) =>
    row === undefined ? [] : [`  ${row[0].padEnd(9)} ${row[1]}`],
  );
  return [`${call} asks for payment:`, ...lines].join('\n');
}

function swapText(swap: NonNullable<Plan['swap']>, network: string): string {
  const [taken, brought] = [
    amountText(network, swap.inputMint, BigInt(swap.maxInAmount)),
    amountText(network, swap.outputMint, BigInt(swap.minOutAmount)),
  ];
  return `at most ${taken} for at least ${brought} (${swap.provider})`;
}

/** Returns the use of a cap: `maxPerDay: 1.25 of 10 USD used`. */
export function capText({ cap, host, payee, used, limit, unit }: CapUse): string {
  const about = host ?? payee;
  return `${cap}${about === undefined ? '' : ` (${about})`}: ${used} of ${limit} ${unit} used`;
}
