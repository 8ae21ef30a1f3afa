import { tablesText, UPGRADES, VERSION } from '../../adapters/journals/postgres/schema.js';
import { statementsOf } from '../../adapters/journals/postgres/statements.js';
import { tablesNamed } from '../../adapters/journals/postgres/tables.js';
import { MAX_BODY_BYTES } from '../../adapters/webhooks/event.js';
import {
  allowedShapes,
  headerShapes,
  neededShapes,
  timestampShape,
  type Fields,
  type Shape,
} from '../../adapters/webhooks/shapes.js';
import { parseOptions } from '../../src/config/parse-options.js';
import { CODES, errorCodes, isErrorCode } from '../../src/errors/codes.js';
import { UNSAFE } from '../../src/internal/unsafe-text.js';
import { attemptStates } from '../../src/journal/states.js';
import { networkNames, pinnedMints, SOLANA_DEVNET, SOLANA_MAINNET, SOLANA_TESTNET, TOKEN_2022_PROGRAM, TOKEN_PROGRAM, WSOL_MINT } from '../../src/network.js';
import { ASSOCIATED_TOKEN_PROGRAM, COMPUTE_BUDGET_PROGRAM, JUPITER_EVENT_AUTHORITY, JUPITER_PROGRAM, LOOKUP_TABLE_PROGRAM, MEMO_PROGRAM, SYSTEM_PROGRAM } from '../../src/solana/programs.js';
import { outcomes } from '../../src/payments/execute/outcomes.js';
import { harmlessExtensions, issuerExtensions } from '../../src/payments/plan/supported-mint.js';
import { PERIODS } from '../../src/policy/periods.js';
import { parsePolicy } from '../../src/policy/policy.js';
import { JSON_LIMITS } from '../../src/protocols/x402/json.js';
import { reservedAddresses } from '../../src/solana/reserved-addresses.js';
import { tokenExtensions } from '../../src/solana/tokens/extensions.js';
import { extraTokenNames, systemNames, tokenNames } from '../../src/solana/transactions/inner.js';
import {
  GUARD_ACCOUNTS,
  LIGHTHOUSE_PROGRAM,
  QUIET_LEVELS,
  REFUSED_GUARDS,
} from '../../src/solana/transactions/lighthouse.js';
import { changeTexts } from '../../src/solana/transactions/wallet-changes.js';
import { firewallRules, ruleTexts } from '../../src/swaps/firewall/catalog.js';
import { COMPRESSION_PROGRAMS } from '../../src/swaps/firewall/exposure.js';
import { harmlessCalls } from '../../src/swaps/firewall/inner-rules.js';
import { v1Forms, v2Forms } from '../../src/swaps/jupiter/layout.js';
import { programErrors } from '../../src/swaps/jupiter/decoder.js';
import { noRouteCodes } from '../../src/swaps/jupiter/refusal.js';
import { swapKind } from '../../src/swaps/jupiter/route-plan.js';
import { swapDecoders } from '../../src/swaps/sources.js';
import { aboutProblem, isServiceCode, problemCodes } from '../../src/wire/problem-codes.js';
import { webhookEvents } from '../../src/wire/webhook-events.js';
import { surface } from './surface.js';

const errors = {
  codes: Object.fromEntries(
    errorCodes.map((code) => {
      const [group, retry] = CODES[code];
      return [code, { class: `${group}Error`, retry, ...aboutProblem(code) }];
    }),
  ),
  serviceCodes: Object.fromEntries(
    problemCodes.flatMap((code) =>
      isServiceCode(code) && !isErrorCode(code) ? [[code, aboutProblem(code)]] : [],
    ),
  ),
};

const networks = {
  clusters: { mainnet: SOLANA_MAINNET, devnet: SOLANA_DEVNET, testnet: SOLANA_TESTNET },
  names: Object.fromEntries(networkNames),
  programs: {
    system: SYSTEM_PROGRAM,
    token: TOKEN_PROGRAM,
    token2022: TOKEN_2022_PROGRAM,
    associatedToken: ASSOCIATED_TOKEN_PROGRAM,
    computeBudget: COMPUTE_BUDGET_PROGRAM,
    memo: MEMO_PROGRAM,
    lookupTable: LOOKUP_TABLE_PROGRAM,
    jupiter: JUPITER_PROGRAM,
    jupiterEventAuthority: JUPITER_EVENT_AUTHORITY,
  },
  compressionPrograms: COMPRESSION_PROGRAMS,
  wrappedSol: WSOL_MINT,
  mints: {
    [SOLANA_MAINNET]: pinnedMints(SOLANA_MAINNET),
    [SOLANA_DEVNET]: pinnedMints(SOLANA_DEVNET),
  },
  reserved: [...reservedAddresses],
};

const firewall = ruleTexts(firewallRules(swapDecoders)).map(({ stage, rule }) => {
  const { id, refuses, why } = rule;
  return { stage, id, refuses, why };
});

const jupiter = {
  v1: Object.fromEntries(v1Forms),
  v2: Object.fromEntries(v2Forms),
  swap: swapKind,
  programErrors: Object.fromEntries(programErrors),
  noRouteCodes: [...noRouteCodes],
};

const tokens = {
  extensions: tokenExtensions,
  harmless: [...harmlessExtensions],
  ofIssuers: [...issuerExtensions],
  calls: {
    system: systemNames,
    token: tokenNames,
    lateToken: extraTokenNames,
    harmless: [...harmlessCalls],
  },
};

const { approve: _approve, ...policy } = parsePolicy({}, SOLANA_MAINNET);
const { timeouts, retries, retryWindow, autoSwap, presign, jupiterUrl, rpcUrls, network, relayer } =
  parseOptions({
    walletSeed: new Uint8Array(32),
    relayer: { url: 'https://relayer.example.com' },
  });
const client = {
  ...{ timeouts, retries, retryWindow, autoSwap, presign, jupiterUrl, rpcUrls, network },
  relayer: { maxFee: relayer?.maxFee },
};
const defaults = { client, policy, periods: Object.fromEntries(PERIODS), json: JSON_LIMITS };

const shapeOf = ({ maxLength, pattern }: Shape) => ({ maxLength, pattern: pattern?.source });
const shapesOf = (fields: Fields = {}) =>
  Object.fromEntries(Object.entries(fields).map(([name, shape]) => [name, shapeOf(shape)]));
const webhooks = {
  maxBodyBytes: MAX_BODY_BYTES,
  headers: shapesOf(headerShapes),
  timestamp: shapeOf(timestampShape),
  events: Object.fromEntries(
    webhookEvents.map((name) => [
      name,
      { needs: shapesOf(neededShapes[name]), allows: shapesOf(allowedShapes[name]) },
    ]),
  ),
};

/** SQL of the Postgres journal; `{schema}` stands for the name of its schema. */
const inSchema = tablesNamed('{schema}');
const postgres = {
  version: VERSION,
  create: tablesText(inSchema),
  upgrades: Object.fromEntries(
    Object.entries(UPGRADES).map(([version, upgrade]) => [version, upgrade(inSchema)]),
  ),
  endpoints: inSchema.endpoints,
  statements: statementsOf(inSchema),
};

/** Guards that wallets may add to a transaction before they sign it. */
const wallets = {
  program: LIGHTHOUSE_PROGRAM,
  accounts: Object.fromEntries(GUARD_ACCOUNTS),
  quietLevels: [...QUIET_LEVELS],
  refused: Object.fromEntries(REFUSED_GUARDS.map(({ first, id }) => [first, id])),
  rules: changeTexts.map(({ id, refuses, why }) => ({ id, refuses, why })),
};

/** Returns the ranges of code points that are never shown, both ends included. */
function unsafeRanges(): number[][] {
  const ranges: number[][] = [];
  for (let point = 0; point <= 0x10ffff; point += 1) {
    UNSAFE.lastIndex = 0;
    if (!UNSAFE.test(String.fromCodePoint(point))) continue;
    const last = ranges[ranges.length - 1];
    if (last?.[1] === point - 1) last[1] = point;
    else ranges.push([point, point]);
  }
  return ranges;
}

/** Tables that both languages use, by file name. */
export const tables: Readonly<Record<string, () => unknown>> = {
  'errors.json': () => errors,
  'states.json': () => ({ attempts: attemptStates, outcomes }),
  'networks.json': () => networks,
  'firewall.json': () => firewall,
  'jupiter.json': () => jupiter,
  'tokens.json': () => tokens,
  'defaults.json': () => defaults,
  'text.json': () => ({ unsafe: unsafeRanges() }),
  'webhooks.json': () => webhooks,
  'postgres.json': () => postgres,
  'wallets.json': () => wallets,
  'surface.json': () => surface,
};
