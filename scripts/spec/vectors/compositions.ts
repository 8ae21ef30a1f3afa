import { WSOL_MINT } from '../../../src/network.js';
import { addressOf } from '../../../src/solana/address.js';
import { associatedTokenAddress } from '../../../src/solana/tokens/accounts.js';
import type { Relay } from '../../../src/swaps/firewall/swap-rules.js';
import { checkComposed, type Composition } from '../../../src/swaps/firewall/self-check.js';
import { swapDecoders as decoders } from '../../../src/swaps/sources.js';
import { composeSwap } from '../../../src/swaps/transaction/compose.js';
import type { OwnAccount } from '../../../src/swaps/accounts/own-account.js';
import { legitimate } from '../../../test/corpus/index.js';
import { createRandom, type Random } from '../../../test/simulation/random.js';
import { fromKit } from '../../../test/unit/swaps/support.js';
import { outcome } from './outcome.js';

const TOKEN = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';

function ownAccount(random: Random, wallet: string, mint: string): OwnAccount {
  const exists = random.chance(0.7);
  const isWrapped = mint === WSOL_MINT;
  return {
    address: associatedTokenAddress(wallet, mint, TOKEN),
    mint,
    tokenProgram: TOKEN,
    decimals: isWrapped ? 9 : 6,
    exists,
    balance: exists && random.chance(0.7) ? BigInt(random.int(0, 2 ** 40)) : 0n,
    uncounted: exists && isWrapped && random.chance(0.3) ? BigInt(random.int(0, 5_000)) : 0n,
    lamports: exists || random.chance(0.2) ? BigInt(random.int(0, 5_000_000)) : 0n,
  };
}

const good = legitimate.filter(({ direction }) => !direction.includes('pyusd'));
const forTokens = good.filter(({ expected }) => expected.inputMint !== WSOL_MINT);

/** Draws a relayer with a fee in either of the swap's tokens. */
function relayFor(random: Random, { inputMint, outputMint }: (typeof good)[number]['expected']): Relay {
  const mints = [inputMint, outputMint].filter((mint) => mint !== WSOL_MINT);
  const feePayer = addressOf(random.bytes(32));
  return {
    feePayer,
    payTo: random.chance(0.5) ? feePayer : addressOf(random.bytes(32)),
    mint: random.pick(mints),
    amount: BigInt(random.pick([0, 1, random.int(1, 2 ** 12), random.int(1, 2 ** 20)])),
  };
}

/** Draws a relayer that differs from the given relayer in a single part, or no relayer. */
function otherThan(random: Random, relay: Relay): Relay | undefined {
  const stranger = addressOf(random.bytes(32));
  const others: Readonly<Record<string, Relay | undefined>> = {
    more: { ...relay, amount: relay.amount + 1n },
    free: { ...relay, amount: relay.amount === 0n ? 1n : 0n },
    payee: { ...relay, payTo: stranger },
    payer: { ...relay, feePayer: stranger },
    none: undefined,
  };
  return others[random.pick(Object.keys(others))];
}

function composition(random: Random, swapCase: (typeof good)[number], relay?: Relay) {
  const { wallet, inputMint, outputMint, maxIn, minOut } = swapCase.expected;
  const amount = (most: number) => (random.chance(0.6) ? 0n : BigInt(random.int(0, most)));
  const reserved = { input: amount(1_000), output: amount(1_000) };
  const lamports = () =>
    relay !== undefined && random.chance(0.7) ? 0n : BigInt(random.int(0, 2 ** 42));
  const source = ownAccount(random, wallet, inputMint);
  const output = ownAccount(random, wallet, outputMint);
  const excess = ({ exists, mint }: OwnAccount) =>
    exists && mint !== WSOL_MINT && random.chance(0.3) ? BigInt(random.int(1, 5_000)) : 0n;
  const facts = {
    source,
    output,
    lamports: lamports(),
    // Only the Python client composes with it.
    walletMinimum: relay === undefined ? 890_880n : 0n,
    sourceRent: 2_039_280n,
    outputRent: 2_039_280n,
    sourceExcess: excess(source),
    outputExcess: excess(output),
    reserved,
    leeway: random.chance(0.5) ? reserved : { input: 0n, output: 0n },
  };
  const compute = {
    unitLimit: random.int(50_000, 1_400_000),
    unitPrice: BigInt(random.int(0, 900_000)),
  };
  const keepWrapped = random.chance(0.3);
  const blockhash = addressOf(random.bytes(32));
  const expected = { ...swapCase.expected, decoders, relay };
  const instruction = fromKit(swapCase.honest);
  const input = {
    id: swapCase.id,
    expected: { ...swapCase.expected, relay },
    instruction,
    facts,
    compute,
    keepWrapped,
    blockhash,
  };
  const composed = outcome(() => {
    const { message, plan, swapAt, guardFrom } = composeSwap({
      ...{ expected, instruction, facts, keepWrapped, compute, blockhash, lookupTables: [] },
    });
    const { floors, budget, leeway } = plan;
    const checkAs = (meant: Composition['expected']) =>
      outcome(() =>
        checkComposed(message, {
          expected: meant,
          ...{ instruction, floors, lookupTables: [], maxPriorityFee: 10n ** 12n },
        }),
      );
    const other = relay === undefined ? undefined : { relay: otherThan(random, relay) };
    return {
      message,
      floors: { lamports: floors.lamports, least: floors.tokens.map(({ least }) => least) },
      budget,
      leeway,
      swapAt,
      guardFrom,
      check: checkAs(expected),
      // The same bytes, checked against another relayer or fee.
      other: other && { ...other, check: checkAs({ ...expected, ...other }) },
    };
  });
  return { ...input, maxIn, minOut, ...composed };
}

/** Vectors of swaps that are composed around an instruction: plan, guard and message. */
export function compositions(): unknown[] {
  const selfPaid = Array.from({ length: 90 }, (_, index) => {
    const random = createRandom(`spec/compositions/${index}`);
    return composition(random, random.pick(good));
  });
  const relayed = Array.from({ length: 60 }, (_, index) => {
    const random = createRandom(`spec/relayed/${index}`);
    const swapCase = random.pick(forTokens);
    return composition(random, swapCase, relayFor(random, swapCase.expected));
  });
  return [...selfPaid, ...relayed];
}
