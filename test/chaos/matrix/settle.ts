import { receiptOf, SOLANA_MAINNET, type Attempt, type Client, type Receipt } from 'exact-change';
import type { MintSymbol, Sandbox, ServedRequest } from 'exact-change-sandbox';
import { expect } from 'vitest';
import { walletOf } from '../../../src/journal/registry.js';
import {
  landed,
  signaturesOf,
  tokenAccount,
  until,
  type ChainTransaction,
} from '../../helpers/chain.js';
import { expectCapUse, worth } from '../../helpers/worth.js';
import {
  attemptsOf,
  balancesOf,
  errorsOf,
  purchaseOf,
  SYMBOLS,
  type Buyer,
  type Call,
  type Outcome,
  type World,
} from './world.js';

/** Every call ends by its own deadlines; a call that takes longer hangs. */
const HUNG_MS = 100_000;

/** A payment as the chain shows it. */
interface PaidOnChain {
  readonly signature: string;
  readonly attempt: Attempt;
}

/** All facts about a wallet at the end. */
interface Books {
  readonly buyer: Buyer;
  readonly transactions: ReadonlyMap<string, ChainTransaction>;
  readonly attempts: readonly Attempt[];
  readonly payments: readonly PaidOnChain[];
  /** Signatures of swaps that landed without an error. */
  readonly swaps: readonly string[];
  readonly calls: readonly { readonly purchase: string; readonly outcome: Outcome }[];
  readonly receipts: readonly Receipt[];
}

/**
 * Compares all books at the end of each cell. Ends the faults, lets the chain decide open attempts,
 * and buys once more, because nothing may be stuck. Then expects the chain, the journal, the
 * merchant's ledger and the callers' outcomes to agree.
 */
export async function settle(world: World): Promise<void> {
  const { sandbox } = world;
  const outcomes = await Promise.all(world.calls.map((call) => ended(call)));
  await world.heal();
  const allBooks: Books[] = [];
  for (const buyer of world.buyers) {
    const client = buyer.sound();
    await decideAll(sandbox, buyer, client);
    await buyOnceMore(sandbox, client);
    await decideAll(sandbox, buyer, client);
    const calls = world.calls.flatMap((call, index) =>
      call.buyer === buyer ? [{ purchase: call.purchase, outcome: outcomes[index]! }] : [],
    );
    const books = await read(sandbox, buyer, client, calls);
    await compareWallet(sandbox, books);
    await compareJournal(sandbox, books, client);
    compareTold(books, world.untold);
    allBooks.push(books);
  }
  await compareMerchant(world, allBooks);
}

async function ended({ purchase, outcome }: Call): Promise<Outcome> {
  let timer: NodeJS.Timeout | undefined;
  const hung = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`The call for ${purchase} did not end in ${HUNG_MS} ms.`)),
      HUNG_MS,
    );
  });
  return Promise.race([outcome, hung]).finally(() => clearTimeout(timer));
}

const CLOSED: readonly Attempt['state'][] = ['settled', 'unsettled', 'unpaid'];

/** Resumes until each attempt is closed; a warp expires transactions that are not on the chain. */
async function decideAll({ controls }: Sandbox, buyer: Buyer, client: Client): Promise<void> {
  let warped = false;
  await until('the chain decides all attempts', async () => {
    const isOpen = async () =>
      (await attemptsOf(buyer)).some(({ state }) => !CLOSED.includes(state));
    if (!(await isOpen())) return true;
    await client.resume();
    if (!(await isOpen())) return true;
    if (!warped) controls.node.warp();
    warped = true;
    return undefined;
  });
}

/** The purchase that proves that nothing is stuck; a wallet without funds must get an error. */
const AFTERWARDS = 'afterwards';

async function buyOnceMore(sandbox: Sandbox, client: Client): Promise<void> {
  const outcome = await client.fetch(`${sandbox.apiUrl}/usdc?purchase=${AFTERWARDS}`).then(
    (response) => ({ response }),
    (error: unknown) => ({ error }),
  );
  if ('response' in outcome) expect(outcome.response.status).toBe(200);
  else expect(outcome.error).toMatchObject({ code: 'insufficient_funds', funds: 'untouched' });
}

async function read(
  sandbox: Sandbox,
  buyer: Buyer,
  client: Client,
  calls: Books['calls'],
): Promise<Books> {
  const signatures = await signaturesOf(sandbox.rpcUrl, buyer.address);
  const transactions = new Map(
    await Promise.all(
      signatures.map(
        async (signature) => [signature, await landed(sandbox.rpcUrl, signature)] as const,
      ),
    ),
  );
  const attempts = await attemptsOf(buyer);
  const receipts: Receipt[] = [];
  for await (const receipt of client.receipts()) receipts.push(receipt);
  const done = [...transactions].filter(([, { error }]) => error === null);
  const payments = done.flatMap(([signature, transaction]) => {
    // The facilitator signs a payment too; a swap has only the wallet's signature.
    if (transaction.signatures.length < 2) return [];
    const attempt = attempts.find(
      ({ payment }) =>
        payment !== undefined && transaction.signatures.includes(payment.payerSignature),
    );
    if (attempt === undefined)
      throw new Error(`Payment ${signature} is on chain, and in no journal.`);
    return [{ signature, attempt }];
  });
  const swaps = done.flatMap(([signature, transaction]) =>
    transaction.signatures.length === 1 ? [signature] : [],
  );
  return { buyer, transactions, attempts, payments, swaps, calls, receipts };
}

/**
 * Expects that the wallet's balances equal its initial funds plus the changes of its transactions,
 * and that each payment moved its price to the payee.
 */
async function compareWallet(
  sandbox: Sandbox,
  { buyer, transactions, payments }: Books,
): Promise<void> {
  const has = await balancesOf(sandbox, buyer.address);
  for (const symbol of SYMBOLS) {
    const mint = sandbox.mints[symbol].address;
    const changes = [...transactions.values()].map(({ lamports, tokens }) =>
      symbol === 'SOL'
        ? (lamports.get(buyer.address) ?? 0n)
        : tokens.reduce(
            (sum, token) =>
              token.owner === buyer.address && token.mint === mint ? sum + token.change : sum,
            0n,
          ),
    );
    expect([symbol, has[symbol]]).toEqual([
      symbol,
      changes.reduce((sum, change) => sum + change, buyer.given[symbol]),
    ]);
  }
  for (const { signature, attempt } of payments) {
    const { mint, amount, receipt } = attempt;
    const payTo = receipt?.payment.payTo ?? '';
    const moves = transactions
      .get(signature)!
      .tokens.map((token) => [token.owner, token.mint, token.change]);
    expect(moves).toHaveLength(2);
    expect(moves).toEqual(
      expect.arrayContaining([
        [buyer.address, mint, -BigInt(amount)],
        [payTo, mint, BigInt(amount)],
      ]),
    );
  }
}

/**
 * Expects that the journal's settled attempts are the payments on the chain, that the caps count
 * all funds that left the wallet, and that no tokens are held.
 */
async function compareJournal(
  sandbox: Sandbox,
  { buyer, attempts, payments, receipts, calls }: Books,
  client: Client,
): Promise<void> {
  const settledIds = attempts.filter(({ state }) => state === 'settled').map(({ id }) => id);
  expect([...settledIds].sort()).toEqual(payments.map(({ attempt }) => attempt.id).sort());
  for (const { signature, attempt } of payments) {
    const receipt = receipts.find(({ id }) => id === attempt.id);
    expect(receipt).toMatchObject({
      state: 'settled',
      payment: { signature, amount: attempt.amount },
    });
  }
  const bought = payments.map(({ attempt }) => purchaseOf(attempt.url));
  expect(bought).toEqual([...new Set(bought)]);
  const meant = new Set([...calls.map(({ purchase }) => purchase), AFTERWARDS]);
  expect(bought.filter((purchase) => !meant.has(purchase))).toEqual([]);

  const cost = payments.reduce((sum, { attempt }) => sum + BigInt(attempt.microUsd ?? 0), 0n);
  const dollars = (await client.spent()).filter(
    ({ unit, host }) => unit === 'USD' && host === undefined,
  );
  expect(dollars.length).toBeGreaterThan(0);
  const left =
    worth(sandbox, buyer.given) - worth(sandbox, await balancesOf(sandbox, buyer.address));
  for (const use of dollars) expectCapUse(sandbox, use, { left, paid: cost, attempts });
  expect(await heldBy(sandbox, buyer)).toEqual({});
}

/** Returns the tokens that are still held for payments and swaps, by symbol. */
async function heldBy(
  sandbox: Sandbox,
  { address, journal }: Buyer,
): Promise<Record<string, bigint>> {
  const owner = { wallet: address, network: SOLANA_MAINNET };
  const { ledger } =
    journal.coordination?.(owner) ?? walletOf(address, SOLANA_MAINNET).coordination;
  const held: Record<string, bigint> = {};
  for (const symbol of SYMBOLS) {
    const tokens = await ledger.held(await tokenAccount(address, sandbox.mints[symbol]));
    if (tokens !== 0n) held[symbol] = tokens;
  }
  const lamports = await ledger.held(address);
  return lamports === 0n ? held : { ...held, lamports };
}

/** Expects that errors and receipts agree with the chain. */
function compareTold(
  { transactions, payments, swaps, calls, attempts }: Books,
  untold: boolean,
): void {
  const outcomes = calls.map(({ outcome }) => outcome);
  const errors = errorsOf(outcomes);
  for (const { moved, funds, details } of errors) {
    for (const { signature } of moved)
      expect([signature, transactions.get(signature)?.error]).toEqual([signature, null]);
    const swapped = moved.some(({ kind }) => kind === 'swap');
    if (funds === 'untouched') expect(moved).toEqual([]);
    if (funds === 'swapped') expect(swapped).toBe(true);
    if (!('payerSignature' in details)) continue;
    const { payerSignature } = details;
    expect(attempts.map(({ payment }) => payment?.payerSignature)).toContain(payerSignature);
    const paid = payments.some(({ attempt }) => attempt.payment?.payerSignature === payerSignature);
    if (funds === 'spent') expect(paid).toBe(true);
    if (funds === 'untouched') expect(paid).toBe(false);
  }
  // If every call for a purchase denied a payment, the chain has no payment.
  for (const { attempt } of payments) {
    const tries = calls
      .filter(({ purchase }) => purchase === purchaseOf(attempt.url))
      .map(({ outcome }) => outcome);
    const denied =
      tries.length > 0 &&
      errorsOf(tries).filter(({ funds }) => funds === 'untouched' || funds === 'swapped').length ===
        tries.length;
    expect([attempt.url, denied]).toEqual([attempt.url, false]);
  }
  // An answer with a receipt has its swap on the chain.
  const receipts = outcomes
    .flatMap((outcome) => ('response' in outcome ? [receiptOf(outcome.response)] : []))
    .filter((receipt) => receipt !== undefined);
  const told = receipts.flatMap(({ swap }) => (swap === undefined ? [] : [swap.signature]));
  for (const { moved, details } of errors) {
    told.push(...moved.map(({ signature }) => signature));
    if ('signature' in details && details.signature !== undefined) told.push(details.signature);
  }
  const later = attempts
    .filter(({ url }) => purchaseOf(url) === AFTERWARDS)
    .flatMap(({ receipt }) => receipt?.swap?.signature ?? []);
  if (!untold) expect([...told, ...later]).toEqual(expect.arrayContaining([...swaps]));
}

/** Expects that the merchant has the paid sum, and no settled sale without a payment. */
async function compareMerchant(
  { sandbox, merchantHad, servedBefore }: World,
  allBooks: readonly Books[],
): Promise<void> {
  const paid = allBooks.flatMap(({ payments }) => payments.map(({ attempt }) => attempt));
  const has = await balancesOf(sandbox, sandbox.merchant);
  const income = (symbol: MintSymbol) =>
    paid.reduce(
      (sum, { mint, amount, receipt }) =>
        mint === sandbox.mints[symbol].address && receipt?.payment.payTo === sandbox.merchant
          ? sum + BigInt(amount)
          : sum,
      0n,
    );
  for (const symbol of SYMBOLS.filter((candidate) => candidate !== 'SOL')) {
    expect([symbol, has[symbol] - merchantHad[symbol]]).toEqual([symbol, income(symbol)]);
  }
  const served: readonly ServedRequest[] = sandbox.controls.api.served.slice(servedBefore);
  const sold = served
    .filter(({ settled }) => settled === true)
    .map(({ paymentHeader }) => paymentHeader);
  const headers = paid.map(({ payment }) => payment?.header.value);
  for (const header of sold) expect(headers).toContain(header);
  // Every delivered purchase came from the merchant's handler.
  const delivered = paid.filter(
    ({ delivered: done, url }) => done && url.startsWith(sandbox.apiUrl),
  );
  for (const { payment, url } of delivered)
    expect([url, sold]).toEqual([url, expect.arrayContaining([payment?.header.value])]);
}
