import { formatUiAmount } from '../../src/amount.js';
import type { Receipt } from '../../src/receipt.js';
import { symbolOf } from '../../src/network.js';
import type { DecimalsOf } from './csv.js';

/** Programs for the entries. They read the same entries, but Beancount first opens each account. */
export type Ledger = 'hledger' | 'beancount';

const WALLET = 'Assets:Wallet';
/** Rent of the wallet's token accounts, which returns to the wallet when they are closed. */
const RENT = 'Assets:Rent';
const FEES = 'Expenses:Fees';
const SOL_DECIMALS = 9;
const MAX_NARRATION = 200;

/** One line of an entry: an account and the amount that it gets. */
interface Posting {
  readonly account: string;
  readonly amount: string;
  /** Amount of another token that paid for it, in a swap. */
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
 * Returns receipts as entries of plain-text accounting. Each entry balances by token to the last
 * base unit. Entries hold the price, the amounts of the swap, network fees, and the rent of new
 * token accounts.
 */
export function ledgerText(
  ledger: Ledger,
  receipts: readonly Receipt[],
  decimalsOf: DecimalsOf,
): string {
  const entries = receipts.flatMap((receipt) => entriesOf(receipt, decimalsOf));
  if (entries.length === 0) return '';
  const [first] = entries.map(({ day }) => day).sort();
  const accounts = new Set(
    entries.flatMap(({ postings }) => postings.map(({ account }) => account)),
  );
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
  const token = (tokenMint: string, units: string, decimals = decimalsOf(tokenMint)): Amount => ({
    units: BigInt(units),
    decimals: decimals ?? 0,
    commodity: commodityOf(network, tokenMint, decimals),
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

/** Returns the postings of an amount from the wallet to an account. */
function moved(account: string, amount: Amount): Posting[] {
  if (amount.units === 0n) return [];
  return [
    { account, amount: textOf(amount) },
    { account: WALLET, amount: textOf(amount, '-') },
  ];
}

function exchanged(taken: Amount, brought: Amount): Posting[] {
  return [
    { account: WALLET, amount: textOf(brought), paidWith: textOf(taken) },
    { account: WALLET, amount: textOf(taken, '-') },
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
 * Returns a commodity name of letters only, which both programs accept without quotes. The name of
 * an unpinned token encodes its mint: two letters for each character, because case matters.
 */
function commodityOf(network: string, mint: string, decimals: number | undefined): string {
  const { symbol } = symbolOf(network, mint);
  if (symbol !== undefined && /^[A-Z]{2,24}$/.test(symbol)) return symbol;
  const letters = Array.from(mint.slice(0, 10), (character) => {
    const code = character.charCodeAt(0);
    return String.fromCharCode(65 + Math.floor(code / 26), 65 + (code % 26));
  });
  return `${decimals === undefined ? 'U' : 'T'}${letters.join('')}`;
}

/** Returns a host as part of an account name: Beancount wants a capital first, and no dots. */
function accountPart(host: string): string {
  const name = host.replace(/[^A-Za-z0-9]+/g, '-').replace(/^-|-$/g, '');
  return name.charAt(0).toUpperCase() + name.slice(1) || 'Unknown';
}

/** Returns a seller's text without characters that have a meaning to either program. */
function clean(text: string): string {
  return text.replace(/[^\w ./:%~+&=,@()*'!$-]/g, '?').slice(0, MAX_NARRATION);
}
