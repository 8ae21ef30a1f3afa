import type { SigningIntent } from '../../src/index.js';
import type { Token } from './market.js';
import {
  accountOf,
  ASSOCIATED,
  COMPUTE_BUDGET,
  FACILITATOR,
  JUPITER,
  MEMO,
  RELAYER,
  RELAYER_PAYEE,
  SYSTEM,
  TOKEN,
  TOKEN_2022,
  WALLET,
} from './places.js';
import type { Relayer } from './relayer.js';
import { readSwap } from './swap-call.js';
import { readMessage, u32At, u64At, type Step } from './wire.js';

/**
 * Returns the fault of a message that the wallet signed for the library, or undefined if it has
 * none. It uses the simulator's own decoder.
 */
export function understood(
  bytes: Uint8Array,
  intent: SigningIntent,
  tokens: readonly Token[],
  { asked }: Pick<Relayer, 'asked'>,
): string | undefined {
  let message;
  try {
    message = readMessage(bytes);
  } catch (error) {
    return `a message that cannot be read was signed: ${String(error)}`;
  }
  const { steps, signers } = message;
  const strange = steps.find((step) => !isKnown(step, tokens));
  if (strange !== undefined)
    return `an instruction of ${strange.program} with data ${Buffer.from(strange.data).toString('hex')} was signed`;
  if (intent.kind === 'swap') {
    const swaps = steps.filter(({ program }) => program === JUPITER).length;
    const isWrap = intent.inputMint === intent.outputMint;
    const isRelayed =
      signers.join() === [RELAYER, WALLET].join() &&
      asked.has(Buffer.from(bytes).toString('base64'));
    // A transfer to the same account is a guard.
    const fees = steps.filter(
      ({ program, accounts, data }) =>
        isToken(program) && data[0] === 12 && accounts[0] !== accounts[2],
    );
    const isRight =
      swaps === (isWrap ? 0 : 1) &&
      fees.length === (isRelayed ? 1 : 0) &&
      fees.every((fee) => isRelayFee(fee, tokens));
    return (isRelayed || signers.join() === WALLET) && isRight
      ? undefined
      : 'a swap has not the form of one';
  }
  const token = tokens.find(({ mint }) => mint === intent.mint);
  if (token === undefined) return `a payment in ${intent.mint}, which is no token, was signed`;
  const rest = steps.filter(({ program }) => program !== COMPUTE_BUDGET && program !== MEMO);
  const [transfer] = rest;
  const { mint, program } = token;
  const accounts = [
    accountOf(WALLET, mint, program),
    mint,
    accountOf(intent.payTo, mint, program),
    WALLET,
  ];
  const isRight =
    rest.length === 1 &&
    transfer?.program === program &&
    transfer.accounts.join() === accounts.join() &&
    u64At(transfer.data, 1) === BigInt(intent.amount) &&
    signers.join() === [FACILITATOR, WALLET].join();
  return isRight ? undefined : 'a payment does another thing than it says';
}

/** The library's default for a relayer's fee, in millionths of a dollar. */
const MAX_RELAY_FEE = 500_000n;

function isRelayFee({ program, accounts, data }: Step, tokens: readonly Token[]): boolean {
  const token = tokens.find(({ mint, worth }) => mint === accounts[1] && worth > 0n);
  if (token === undefined) return false;
  const { mint, worth, decimals } = token;
  const ends = [WALLET, RELAYER_PAYEE].map((owner) => accountOf(owner, mint, program));
  return (
    ends.join() === [accounts[0], accounts[2]].join() &&
    u64At(data, 1) * worth <= MAX_RELAY_FEE * 10n ** BigInt(decimals)
  );
}

const isToken = (program: string): boolean => program === TOKEN || program === TOKEN_2022;

function isKnown({ program, accounts, data }: Step, tokens: readonly Token[]): boolean {
  const isOwn = (address: string | undefined) =>
    tokens.some((token) => accountOf(WALLET, token.mint, token.program) === address);
  switch (program) {
    case COMPUTE_BUDGET:
      return data[0] === 2 || data[0] === 3;
    case MEMO:
      return true;
    case SYSTEM:
      return u32At(data, 0) === 2 && (accounts[1] === WALLET || isOwn(accounts[1]));
    case ASSOCIATED:
      return data.length === 1 && data[0] === 1 && accounts[2] === WALLET && isOwn(accounts[1]);
    case JUPITER:
      return readSwap({ program, accounts, data })?.user === WALLET;
    case TOKEN:
    case TOKEN_2022:
      return isKnownToken(accounts, data);
    default:
      return false;
  }
}

/** Allows transfer, revoke, removal of the close authority, close into the wallet, and sync. */
function isKnownToken(accounts: readonly string[], data: Uint8Array): boolean {
  if (data[0] === 6) return data[1] === 3 && data[2] === 0;
  if (data[0] === 9) return accounts[1] === WALLET;
  return data[0] === 12 || data[0] === 5 || data[0] === 17;
}
