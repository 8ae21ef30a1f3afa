// A page that pays: `npm run demo:browser`. It shows texts of sellers, tokens and wallets only as
// text, never as HTML.
import {
  createClient,
  isExactChangeError,
  type Client,
  type Plan,
  type Receipt,
} from 'exact-change';
import { indexedDbJournal } from 'exact-change/journal/indexeddb';
import { element, field, find, show } from './dom.js';
import { fundingOf } from './funding.js';
import { planPanel } from './plan.js';
import { buy, cutOff, isApproved, purchaseOf, type Purchase } from './purchase.js';
import { receiptList } from './receipts.js';
import { spendingChart } from './spending.js';
import { startSteps } from './steps.js';
import { amountText, short } from './text.js';
import { doors, onWallets, type Door, type Settings } from './wallets.js';

const DOOR = 'exact-change wallet';
/** Milliseconds after the answer for which the list of steps still waits for the chain. */
const STEPS_FOR_MS = 30_000;
const FUNDS = {
  untouched: 'Nothing has left the wallet.',
  swapped: 'A swap went through, and nothing was paid.',
  uncertain: 'Whether it is paid is not known yet; the chain decides.',
  spent: 'It was paid.',
} as const;

const settings = (await (await fetch('./settings.json')).json()) as Settings;
const { rpcUrl, wsUrl, jupiterUrl, sandboxKey, samples = [] } = settings;
const journal = indexedDbJournal();
let client: Client | undefined;
/** Most US dollars that the shown purchase may take. */
let planned: string | undefined;
/** Number of reads so far, so that a slow earlier read does not replace a later read. */
let reads = 0;
/** Decimals of the tokens that the wallet holds, by mint. */
let decimals = new Map<string, number>();
/** The approved purchase. The wallet signs nothing else, even if the seller changes its terms. */
let approved: Purchase | undefined;

const say = (text: string) => show('status', text);

async function connect(door: Door, silent: boolean): Promise<void> {
  try {
    const signer = await door.signer(silent);
    client = createClient({
      ...signer,
      rpcUrl,
      wsUrl,
      jupiterUrl,
      journal,
      autoSwap: true,
      policy: {
        maxPerPayment: '1.00',
        maxPerHour: '2.00',
        maxPerDay: '5.00',
        approve: (plan) => isApproved(plan, approved),
      },
    });
    sessionStorage.setItem(DOOR, door.name);
    for (const change of ['payment.settled', 'payment.unsettled'] as const)
      client.on(change, () => void refresh().catch(explain));
    // Without persistence, a browser that is short of space may delete the journal. Firefox asks
    // the user, and the page goes on without the answer.
    void (navigator.storage as StorageManager | undefined)?.persist();
    await refresh();
    const purchase = cutOff(client.address);
    if (purchase !== undefined) {
      field('url').value = purchase.url;
      say('The page was left in the middle of a purchase: it goes on with it.');
      await pay(client, purchase);
    } else {
      await client.resume();
      await refresh();
    }
  } catch (error) {
    explain(error);
  }
}

async function disconnect(): Promise<void> {
  await client?.close();
  client = undefined;
  reads += 1;
  sessionStorage.removeItem(DOOR);
  show('plan');
  showDoors();
}

function showDoors(): void {
  if (client !== undefined) return;
  const all = doors(settings);
  show(
    'wallet',
    element('h2', { id: 'wallet-title' }, 'Connect a wallet'),
    all.length === 0
      ? element('p', { class: 'note' }, 'No Solana wallet was found in this browser.')
      : element(
          'div',
          { class: 'row', role: 'group', 'aria-labelledby': 'wallet-title' },
          ...all.map((door) =>
            element(
              'button',
              { type: 'button', onclick: () => void connect(door, false) },
              door.name,
            ),
          ),
        ),
  );
}

/** Shows the current state of the journal and the chain. */
async function refresh(): Promise<void> {
  const payer = client;
  if (payer === undefined) return;
  const read = (reads += 1);
  const [caps, held, receipts] = await Promise.all([
    payer.spent(),
    payer.balance(),
    listOf(payer.receipts()),
  ]);
  if (read !== reads) return;
  decimals = new Map(held.map((one) => [one.mint, one.decimals]));
  const shown = held.filter(({ amount }) => amount !== '0');
  show(
    'wallet',
    element('h2', {}, `Wallet ${short(payer.address)}`),
    element(
      'ul',
      { class: 'held' },
      ...(shown.length === 0
        ? [element('li', {}, 'It is empty.')]
        : shown.map((one) => element('li', {}, amountText(one.mint, one.amount, one.decimals)))),
    ),
    element('button', { type: 'button', onclick: () => void disconnect() }, 'Disconnect'),
  );
  show('spent', spendingChart(caps, planned));
  show('receipts', receiptList(receipts, sandboxKey !== undefined));
}

async function listOf(receipts: AsyncIterable<Receipt>): Promise<Receipt[]> {
  const all: Receipt[] = [];
  for await (const receipt of receipts) all.push(receipt);
  return all;
}

async function ask(url: string): Promise<void> {
  show('problem');
  show('plan');
  find('answer-section').hidden = true;
  if (client === undefined) return explain(new Error('Connect a wallet first.'));
  say('Asking for the price…');
  setBusy(true);
  try {
    const plan = await client.plan(url);
    say('');
    await present(client, plan);
  } catch (error) {
    explain(error);
  } finally {
    setBusy(false);
  }
}

async function present(payer: Client, plan: Plan): Promise<void> {
  const purchase = purchaseOf(payer.address, plan);
  const cancel = () => {
    planned = undefined;
    show('plan');
    say('Nothing was paid.');
    field('url').focus();
    refresh().catch(explain);
  };
  show(
    'plan',
    planPanel(plan, purchase?.most, (mint) => decimals.get(mint), {
      pay: () => void (purchase === undefined ? undefined : pay(payer, purchase)),
      cancel,
    }),
  );
  document.getElementById('plan-title')?.focus();
  planned = purchase?.most;
  await refresh();
}

async function pay(payer: Client, purchase: Purchase): Promise<void> {
  show('plan');
  show('problem');
  setBusy(true);
  planned = undefined;
  approved = purchase;
  const stop = payer.on(
    '*',
    startSteps((mint) => decimals.get(mint)),
  );
  try {
    say('Paying…');
    const { status, text } = await buy(payer, purchase, say);
    say(status < 400 ? 'Bought.' : 'The seller was paid, and answered with an error.');
    find('answer-section').hidden = false;
    show('answer-note', `${status} from ${new URL(purchase.url).host}, as plain text.`);
    show('answer', text);
    find('answer-title').focus();
  } catch (error) {
    explain(error);
  } finally {
    approved = undefined;
    setBusy(false);
    refresh().catch(explain);
    // The chain decides after the answer, so keep listening for a while.
    setTimeout(stop, STEPS_FOR_MS);
  }
}

function explain(error: unknown): void {
  say('');
  const text = error instanceof Error ? error.message : String(error);
  const funds = isExactChangeError(error) ? FUNDS[error.funds] : '';
  const { link } = isExactChangeError(error) && 'link' in error.details ? error.details : {};
  show(
    'problem',
    element(
      'div',
      { class: 'panel bad' },
      element('p', {}, element('strong', {}, text), ` ${funds}`),
      ...(link === undefined ? [] : fundingOf(link)),
    ),
  );
}

function setBusy(isBusy: boolean): void {
  for (const one of document.querySelectorAll<HTMLButtonElement>('#ask button'))
    one.disabled = isBusy;
}

find('ask').addEventListener('submit', (event) => {
  event.preventDefault();
  void ask(field('url').value);
});
show(
  'samples',
  ...samples.map(({ url, description }) =>
    element(
      'button',
      {
        type: 'button',
        onclick: () => {
          field('url').value = url;
          void ask(url);
        },
      },
      description,
    ),
  ),
);
showDoors();
onWallets(showDoors);
const last = doors(settings).find(({ name }) => name === sessionStorage.getItem(DOOR));
if (last !== undefined) await connect(last, true);
