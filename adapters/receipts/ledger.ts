import { formatUiAmount } from '../../src/amount.js';
import type { Receipt } from '../../src/receipt.js';
import { symbolOf } from '../../src/network.js';
import type { DecimalsOf } from './csv.js';

/** Both read the same entries; Beancount wants each account opened before. */
export type Ledger = 'hledger' | 'beancount';

const WALLET = 'Assets:Wallet';
/** What token accounts of the wallet hold for their space, and give back when they are closed. */
const RENT = 'Assets:Rent';
const FEES = 'Expenses:Fees';
const SOL_DECIMALS = 9;
const MAX_NARRATION = 200;

/** One line of an entry: what an account gets of a token, and what that was paid with. */
interface Posting {
  readonly account: string;
  readonly amount: string;
  readonly paidWith?: string;
}

interface Entry {
  readonly day: string;
  /** `*` if the chain has decided, else `!`. */
  readonly flag: '*' | '!';
  readonly payee: string;
  readonly narration: string;
  readonly comments: readonly string[];
  readonly postings: readonly Posting[];
}

/**
 * Receipts as entries of plain-text accounting, each in balance by token to the last base unit: the
 * price, the swap at what it took, network fees, and the rent of token accounts that stay.
 */
export function ledgerText(
  ledger: Ledger,
  receipts: readonly Receipt[],
  decimalsOf: DecimalsOf,
): string {
  const entries = receipts.flatMap((receipt) => entriesOf(receipt, decimalsOf));
  if (entries.length === 0) return '';
  const [first] = entries.map(({ day }) => day).sort();
  const accounts = new Set(entries.flatMap(({ postings }) => postings.map((one) => one.account)));
  const opened =
    ledger === 'hledger'
      ? []
      : [[...accounts].map((account) => `${first} open ${account}\n`).join('')];
  return [...opened, ...entries.map(entryText)].join('\n');
}

function entriesOf(receipt: Receipt, decimalsOf: DecimalsOf): Entry[] {
  const { id, at, state, url, method, payment, swap, cost } = receipt;
  const { host, pathname } = new URL(url);
  const { network, mint } = payment;
  const day = new Date(at).toISOString().slice(0, 10);
  const token = (of: string, units: string, decimals = decimalsOf(of)): Amount => ({
    units: BigInt(units),
    decimals: decimals ?? 0,
    commodity: commodityOf(network, of, decimals),
  });
  const sol = (units: string): Amount => ({
    ...{ units: BigInt(units), decimals: SOL_DECIMALS, commodity: 'SOL' },
  });
  const common = { day, payee: clean(host) };
  const swapped =
    swap === undefined
      ? []
      : [
          {
            ...{ ...common, flag: '*' as const, narration: `swap by ${clean(swap.provider)}` },
            comments: [
              `id: ${id}`,
              `mints: ${swap.inputMint} ${swap.outputMint}`,
              `signature: ${swap.signature}`,
            ],
            postings: exchanged(
              token(swap.inputMint, swap.inAmount),
              token(swap.outputMint, swap.outAmount),
            ),
          },
        ];
  const charges = [
    ...moved(FEES, sol(cost.networkFeeLamports)),
    ...moved(RENT, sol(cost.rentLamports)),
  ];
  const price =
    state === 'unsettled'
      ? []
      : moved(`Expenses:Paid:${accountPart(host)}`, token(mint, payment.amount, payment.decimals));
  const postings = [...price, ...charges];
  if (postings.length === 0) return swapped;
  const paid: Entry = {
    ...{ ...common, flag: state === 'settled' || state === 'unsettled' ? '*' : '!' },
    narration: clean(`${method} ${pathname}`),
    comments: [
      ...[`id: ${id}`, `state: ${state}`, `mint: ${mint}`, `to: ${payment.payTo}`],
      ...(payment.signature === undefined ? [] : [`signature: ${payment.signature}`]),
      ...(cost.usd === undefined ? [] : [`usd: ${cost.usd}`]),
    ],
    postings,
  };
  return [...swapped, paid];
}

interface Amount {
  readonly units: bigint;
  readonly decimals: number;
  readonly commodity: string;
}

const textOf = ({ units, decimals, commodity }: Amount, sign = ''): string =>
  `${sign}${formatUiAmount(units, decimals)} ${commodity}`;

/** From the wallet to an account. */
function moved(account: string, amount: Amount): Posting[] {
  if (amount.units === 0n) return [];
  return [
    { account, amount: textOf(amount) },
    { account: WALLET, amount: textOf(amount, '-') },
  ];
}

function exchanged(given: Amount, got: Amount): Posting[] {
  return [
    { account: WALLET, amount: textOf(got), paidWith: textOf(given) },
    { account: WALLET, amount: textOf(given, '-') },
  ];
}

function entryText({ day, flag, payee, narration, comments, postings }: Entry): string {
  const lines = postings.map(({ account, amount, paidWith }) => {
    const price = paidWith === undefined ? '' : ` @@ ${paidWith}`;
    return `    ${account}  ${amount}${price}`;
  });
  const notes = comments.map((comment) => `    ; ${comment}`);
  return [`${day} ${flag} "${payee}" "${narration}"`, ...notes, ...lines, ''].join('\n');
}

/**
 * Letters alone, which both take without quotes. A token that is not pinned goes by its mint, of
 * which the case counts: each letter and digit is two letters.
 */
function commodityOf(network: string, mint: string, decimals: number | undefined): string {
  const { symbol } = symbolOf(network, mint);
  if (symbol !== undefined && /^[A-Z]{2,24}$/.test(symbol)) return symbol;
  const letters = Array.from(mint.slice(0, 10), (one) => {
    const code = one.charCodeAt(0);
    return String.fromCharCode(65 + Math.floor(code / 26), 65 + (code % 26));
  });
  return `${decimals === undefined ? 'U' : 'T'}${letters.join('')}`;
}

/** Beancount's accounts have neither dots nor colons in a part, and begin with a capital. */
function accountPart(host: string): string {
  const name = host.replace(/[^A-Za-z0-9]+/g, '-').replace(/^-|-$/g, '');
  return name.charAt(0).toUpperCase() + name.slice(1) || 'Unknown';
}

/** What a seller chose, without what either program reads as more than text. */
function clean(text: string): string {
  return text.replace(/[^\w ./:%~+&=,@()*'!$-]/g, '?').slice(0, MAX_NARRATION);
}
