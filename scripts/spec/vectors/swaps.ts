import { SOLANA_MAINNET, WSOL_MINT } from '../../../src/network.js';
import { addressOf } from '../../../src/solana/address.js';
import { readInner } from '../../../src/solana/transactions/inner.js';
import { innerRules } from '../../../src/swaps/firewall/inner-rules.js';
import { brokenBy } from '../../../src/swaps/firewall/rule.js';
import { readQuote } from '../../../src/swaps/jupiter/answer.js';
import { decodeSwap } from '../../../src/swaps/jupiter/layout.js';
import { refusalOf } from '../../../src/swaps/jupiter/refusal.js';
import { checkQuote } from '../../../src/swaps/quote/check-quote.js';
import { orderCandidates } from '../../../src/swaps/quote/candidates.js';
import type { QuoteIntent } from '../../../src/swaps/provider.js';
import { associatedTokenAddress } from '../../../src/solana/tokens/accounts.js';
import { legitimate } from '../../../test/corpus/index.js';
import { fromKit } from '../../../test/unit/swaps/support.js';
import { createRandom } from '../../../test/simulation/random.js';
import { outcome } from './outcome.js';

const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const TOKEN = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';

/** Vectors of Jupiter's quotes and refusals, sound and malformed. */
export function quotes(): unknown[] {
  const rows = Array.from({ length: 160 }, (_, index) => {
    const random = createRandom(`spec/quotes/${index}`);
    const swapMode = random.pick(['ExactIn', 'ExactOut'] as const);
    const slippageBps = random.pick([0, 30, 50, 100]);
    const amount = BigInt(random.int(1, 2 ** 40));
    const intent: QuoteIntent = {
      inputMint: WSOL_MINT,
      outputMint: USDC,
      amount,
      swapMode,
      slippageBps,
    };
    const other = BigInt(random.int(1, 2 ** 40));
    const [inAmount, outAmount] = swapMode === 'ExactIn' ? [amount, other] : [other, amount];
    const near =
      swapMode === 'ExactIn'
        ? (outAmount * (10_000n - BigInt(slippageBps))) / 10_000n
        : (inAmount * (10_000n + BigInt(slippageBps)) + 9_999n) / 10_000n;
    const raw: Record<string, unknown> = {
      inputMint: WSOL_MINT,
      outputMint: USDC,
      inAmount: inAmount.toString(),
      outAmount: outAmount.toString(),
      otherAmountThreshold: (near + BigInt(random.pick([0, 0, 0, 1, -1, 2, -3]))).toString(),
      swapMode,
      slippageBps,
      priceImpactPct: random.pick(['0', '0.0012', '-0.0003', '1e-7', 'x', 0.01, null, '0.123456']),
      routePlan: [{ swapInfo: { label: 'Whirl\u202epool' } }, { swapInfo: { ammKey: USDC } }, 7],
    };
    const spoil = random.int(0, 12);
    if (spoil === 0) raw['inAmount'] = random.pick(['-1', '1.0', 1, '']);
    if (spoil === 1) raw['platformFee'] = random.pick([{ feeBps: 5 }, { amount: '1' }, {}, null]);
    if (spoil === 2) raw['slippageBps'] = random.pick([slippageBps + 1, -1, 1.5, '50']);
    if (spoil === 3) raw['inputMint'] = random.pick([USDC, 'x', 5]);
    if (spoil === 4) raw['swapMode'] = random.pick(['ExactOut', 'Exact', null]);
    if (spoil === 5) raw['outAmount'] = (outAmount + 5n).toString();
    const read = outcome(() => readQuote(raw, intent, 'jupiter-v1', 7)) as { out?: never };
    const checked =
      read.out === undefined ? undefined : outcome(() => checkQuote(read.out as never, intent));
    return { of: 'quote', raw, intent, read, checked };
  });
  const bodies = [
    ['{"errorCode":"NO_ROUTES_FOUND","error":"No routes found"}', 400],
    ['{"errorCode":"COULD_NOT_FIND_ANY_ROUTE"}', 400],
    ['{"error":"Could not find any route"}', 400],
    ['Route not found', 400],
    ['{"errorCode":"TOKEN_NOT_TRADABLE","message":"The token is not tradable"}', 400],
    ['{"errorCode":"FAILED_TO_GET_SWAP_AND_ACCOUNT_METAS"}', 400],
    ['{"error":"Invalid API key"}', 401],
    ['', 403],
    ['{"errorCode":"NO_ROUTES_FOUND"}', 404],
    ['gone', 410],
    ['{"error":"something else"}', 422],
    ['[1,2]', 400],
  ] as const;
  const refusals = bodies.map(([body, status]) => {
    const error = refusalOf(status, body, { inputMint: WSOL_MINT, outputMint: USDC });
    const { code, retry, details, untrusted } = error;
    return { of: 'refusal', body, status, out: { code, retry, details, untrusted } };
  });
  return [...rows, ...refusals];
}

/** Vectors of swap instructions, also broken instructions, with their decoded form. */
export function instructions(): unknown[] {
  const good = legitimate.map(({ honest }) => fromKit(honest));
  return Array.from({ length: 260 }, (_, index) => {
    const random = createRandom(`spec/instructions/${index}`);
    const { program, accounts, data } = random.pick(good);
    const at = random.int(0, data.length - 1);
    const spoilt = random.pick([
      () => data,
      () => data.slice(0, at),
      () => data.map((byte, place) => (place === at ? random.int(0, 255) : byte)),
      () => Uint8Array.of(...data, random.int(0, 255)),
      () => Uint8Array.of(...data.slice(0, 12), random.int(0, 196), ...data.slice(13)),
    ])();
    const some = random.chance(0.2) ? accounts.slice(0, random.int(0, accounts.length)) : accounts;
    const instruction = { program, accounts: some, data: spoilt };
    return {
      data: spoilt,
      accounts: some.map(({ address }) => address),
      out: decodeSwap(instruction) ?? null,
    };
  });
}

const SYSTEM = '11111111111111111111111111111111';
const STRANGER = 'GyGKxMyg1p9SsHfm15MkNUu1u9TN2JtTspcdmrtGUdse';

/** Vectors of inner instructions of a swap, with the rule that they break. */
export function inner(): unknown[] {
  const wallet = 'AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9';
  const own = [associatedTokenAddress(wallet, USDC, TOKEN)];
  const call = (programId: string, parsed: unknown) => ({ programId, parsed });
  const raw = (programId: string, accounts: readonly unknown[], data: unknown) => ({
    programId,
    accounts,
    data,
  });
  const calls: readonly unknown[] = [
    call(TOKEN, {
      type: 'transfer',
      info: { source: own[0], destination: STRANGER, authority: wallet },
    }),
    call(TOKEN, { type: 'approve', info: { source: own[0], delegate: STRANGER, owner: wallet } }),
    call(TOKEN, { type: 'setAuthority', info: { account: own[0], authority: wallet } }),
    call(TOKEN, { type: 'closeAccount', info: { account: own[0], destination: STRANGER } }),
    call(TOKEN, { type: 'closeAccount', info: { account: STRANGER, destination: wallet } }),
    call(TOKEN, { type: 'mintTo', info: { account: own[0], mintAuthority: STRANGER } }),
    call(TOKEN, { type: 'mintTo', info: { account: own[0], mintAuthority: wallet } }),
    call(TOKEN, { type: 'burnChecked', info: { account: own[0], authority: wallet } }),
    call(TOKEN, { type: 'unknownKind', info: { deep: [{ deeper: { owner: wallet } }] } }),
    call(SYSTEM, { type: 'transfer', info: { source: wallet, destination: STRANGER } }),
    call(SYSTEM, { type: 'assign', info: { account: wallet, owner: STRANGER } }),
    call(SYSTEM, { type: 'createAccount', info: { source: wallet, newAccount: STRANGER } }),
    call(SYSTEM, { type: 'createAccount', info: { source: wallet, newAccount: wallet } }),
    call(SYSTEM, { type: 'advanceNonce', info: { nonceAuthority: wallet } }),
    call(STRANGER, { any: ['thing', wallet] }),
    raw(TOKEN, [own[0], STRANGER, wallet], '3Bxs4h24hBtQy9rw'),
    raw(TOKEN, [own[0], STRANGER, wallet], '4'),
    raw(TOKEN, [own[0], wallet], '6'),
    raw(TOKEN, [STRANGER], '7'),
    raw(SYSTEM, [wallet, STRANGER], '3Bxs43ZMjSRQLs6o'),
    raw(
      SYSTEM,
      [wallet, STRANGER],
      '11119os1e9qSs2u7TsThXqkBSRVFxhmYaFKFZ1waB2X7armDmvK3p5GmLdUxYdg3h7QSrL',
    ),
    raw(STRANGER, [wallet], 'abc'),
    raw(TOKEN, ['no address'], '4'),
    raw(TOKEN, [wallet], '0OIl'),
    raw(TOKEN, 'none' as never, '4'),
    call(TOKEN, null),
    call(TOKEN, { info: {} }),
    call('no program', { type: 'transfer', info: {} }),
  ];
  const transfer = calls[0];
  return [[], ...calls.map((inner) => [transfer, inner])].map((instructions) => {
    const shown = [{ index: 3, instructions }];
    try {
      const inner = readInner(shown);
      const subject = { inner, swapIndex: 3, wallet, own };
      return {
        in: instructions,
        wallet,
        own,
        inner,
        out: brokenBy(innerRules, subject)?.id ?? null,
      };
    } catch (error) {
      return {
        in: instructions,
        wallet,
        own,
        refused: error instanceof Error ? error.message : '',
      };
    }
  });
}

/** Vectors of the tokens that a swap tries to sell, in order. */
export function candidates(): unknown[] {
  const wallet = 'AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9';
  return Array.from({ length: 60 }, (_, index) => {
    const random = createRandom(`spec/candidates/${index}`);
    const some = Array.from({ length: 4 }, () => addressOf(random.bytes(32)));
    const mints = [USDC, 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB', WSOL_MINT, ...some];
    const tokens = mints.slice(0, random.int(0, mints.length)).map((mint) => ({
      address: random.chance(0.9) ? associatedTokenAddress(wallet, mint, TOKEN) : STRANGER,
      account: {
        ...{ tokenProgram: TOKEN, mint, owner: random.chance(0.95) ? wallet : STRANGER },
        amount: BigInt(random.pick([0, 1, 2, random.int(0, 2 ** 40)])),
        ...(random.chance(0.1) ? { delegate: STRANGER } : {}),
        ...(random.chance(0.1) ? { closeAuthority: random.pick([wallet, STRANGER]) } : {}),
        ...{
          isNative: mint === WSOL_MINT,
          extensions: [],
          requiresMemo: random.chance(0.1),
          ...(random.chance(0.1) ? { hasCpiGuard: true as const } : {}),
        },
        state: random.chance(0.9) ? ('initialized' as const) : ('frozen' as const),
      },
    }));
    const holdings = {
      network: SOLANA_MAINNET,
      wallet,
      lamports: BigInt(random.int(0, 2 ** 32)),
      tokens,
    };
    const choice = {
      outputMint: random.pick(mints),
      keepLamports: 8_000_000n,
      ...(random.chance(0.3) ? { swapFrom: ['SOL', 'USDC', some[0] ?? ''] } : {}),
      reserved: new Map([[random.pick(mints), BigInt(random.int(0, 2 ** 33))]]),
    };
    return { holdings, choice, out: orderCandidates(holdings, choice) };
  });
}
