// The page of `exact-change serve --ui`. It only reads, and shows the data as text.
import type { Overview, ReceiptPage } from '../shown.js';
import { capBars, dayColumns, groupBars } from './charts.js';
import { draw, find, h } from './dom.js';
import { showReceipts } from './receipts.js';
import { ask, hearChanges, resume, signIn, SignedOut } from './session.js';
import { deliveryTable, endpointTable, openTable, swapTables } from './tables.js';
import { countText, short, usdText } from './text.js';

const PAGE = 50;
const AGAIN_MS = 2_000;
/** Milliseconds between refreshes, because spending leaves a cap's window also without an event. */
const REFRESH_MS = 30_000;
const TYPING_MS = 200;

const wallet = find('wallet', HTMLSelectElement);
const state = find('state', HTMLSelectElement);
const text = find('text', HTMLInputElement);
/** Index of the first shown receipt, and number of all receipts. */
let [from, total] = [0, 0];
/** Number of requests for receipts, so that a late answer does not replace a later answer. */
let requests = 0;

const say = (message: string) => draw('live', message, () => [message]);

async function showOverview(): Promise<void> {
  const overview = (await (await ask('overview', { wallet: wallet.value })).json()) as Overview;
  showWallets(overview);
  showTotals(overview);
  const { caps, days, hosts, tokens, open, endpoints, deliveries } = overview;
  draw('caps', caps, () => capBars(caps));
  draw('days', days, () => dayColumns(days));
  draw('hosts', hosts, () => groupBars('hosts-title', 'Host', hosts));
  draw('tokens', tokens, () => groupBars('tokens-title', 'Token', tokens));
  draw('open', open, () => [openTable(open)]);
  draw('swaps', [overview.swaps, overview.swapCount], () => swapTables(overview));
  draw('endpoints', endpoints, () => [endpointTable(endpoints)]);
  draw('deliveries', deliveries, () => [deliveryTable(deliveries)]);
}

function showWallets({ wallets, wallet: shownWallet = '' }: Overview): void {
  draw('wallet', wallets, () =>
    wallets.map((address) =>
      h('option', { value: address }, wallets.length === 1 ? address : short(address)),
    ),
  );
  wallet.value = shownWallet;
  find('wallet-choice', HTMLElement).hidden = wallets.length === 0;
}

function showTotals({ days, inDays, receipts, openCount, swapCount, swapLoss }: Overview): void {
  const today = days[days.length - 1]?.usd ?? '0';
  const rows: readonly (readonly [string, string])[] = [
    ['Spent today (UTC)', usdText(today)],
    ['In 30 days', usdText(inDays.usd)],
    ['Receipts', receipts.toLocaleString('en')],
    ['Open', openCount.toLocaleString('en')],
    ['Lost in swaps', `${usdText(swapLoss)} (${countText(swapCount, 'swap', 'swaps')})`],
  ];
  draw('totals', rows, () =>
    rows.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))),
  );
}

async function loadReceipts(): Promise<void> {
  const request = (requests += 1);
  const query = { wallet: wallet.value, state: state.value, text: text.value, from: `${from}` };
  const page = (await (await ask('receipts', query)).json()) as ReceiptPage;
  if (request !== requests) return;
  total = page.total;
  showReceipts(page);
}

/** True while a change is drawn. Further changes in that time are drawn together afterwards. */
let isShowing = false;
let isStale = false;
async function refresh(): Promise<void> {
  isStale = true;
  if (isShowing) return;
  isShowing = true;
  try {
    while (isStale) {
      isStale = false;
      await showOverview();
      await loadReceipts();
    }
  } finally {
    isShowing = false;
  }
}

const failed = (error: unknown): void => {
  if (error instanceof SignedOut) showSignIn('The session is over.');
  else say('The service cannot be reached; trying again');
};
const act = (work: () => Promise<void>): void => void work().catch(failed);

let isFollowing = false;
/** Shows the board, and follows changes until the session is over. */
async function follow(): Promise<void> {
  find('sign-in', HTMLElement).hidden = true;
  find('board', HTMLElement).hidden = false;
  if (isFollowing) return;
  isFollowing = true;
  while (isFollowing) {
    try {
      await hearChanges(() => {
        say('Live');
        act(refresh);
      });
      say('The service cannot be reached; trying again');
    } catch (error) {
      failed(error);
      if (error instanceof SignedOut) isFollowing = false;
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

function showSignIn(reason: string): void {
  isFollowing = false;
  say('Not signed in');
  const instruction =
    'Open the address that exact-change serve --ui prints, or give the key of the service.';
  draw('sign-in-reason', reason, () => [`${reason} ${instruction}`.trim()]);
  find('board', HTMLElement).hidden = true;
  find('sign-in', HTMLElement).hidden = false;
}

function turnTo(place: number): void {
  const last = Math.max(0, Math.ceil(total / PAGE) - 1) * PAGE;
  from = Math.min(Math.max(0, place), last);
  act(loadReceipts);
}

let typing: ReturnType<typeof setTimeout> | undefined;
text.addEventListener('input', () => {
  clearTimeout(typing);
  typing = setTimeout(() => turnTo(0), TYPING_MS);
});
state.addEventListener('change', () => turnTo(0));
wallet.addEventListener('change', () => {
  from = 0;
  act(refresh);
});
for (const [id, place] of [
  ['newest', () => 0],
  ['newer', () => from - PAGE],
  ['older', () => from + PAGE],
  ['oldest', () => total],
] as const) {
  const button = find(id, HTMLButtonElement);
  button.addEventListener('click', () => {
    if (button.getAttribute('aria-disabled') !== 'true') turnTo(place());
  });
}
find('filter', HTMLFormElement).addEventListener('submit', (event) => event.preventDefault());
find('sign-in-form', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault();
  const key = find('key', HTMLInputElement);
  signIn(key.value.trim()).then(
    (isIn) => {
      key.value = '';
      const problem = isIn ? '' : 'That is not the key of this service.';
      draw('sign-in-problem', problem, () => [problem]);
      if (isIn) void follow();
    },
    () => say('The service cannot be reached'),
  );
});
setInterval(() => (isFollowing ? act(refresh) : undefined), REFRESH_MS);

async function enter(): Promise<void> {
  if (await resume().catch(() => false)) void follow();
  else showSignIn('');
}
// A link of the terminal that is opened in this tab does not load the page again.
addEventListener('hashchange', () => void enter());
await enter();
