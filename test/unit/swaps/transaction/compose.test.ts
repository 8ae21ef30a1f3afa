import {
  decompileTransactionMessage,
  getCompiledTransactionMessageDecoder,
  type Instruction as KitInstruction,
} from '@solana/kit';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { routeV2 } from '../../../../adapters/sandbox/venue/venue.mjs';
import { isExactChangeError } from '../../../../src/errors.js';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../../../src/network.js';
import { associatedTokenAddress } from '../../../../src/solana/tokens/accounts.js';
import {
  boundedUnitPrice,
  checkBudget,
  priorityFee,
  requiredLamports,
} from '../../../../src/swaps/transaction/budget.js';
import { composeSwap, maxAccountsLadder } from '../../../../src/swaps/transaction/compose.js';
import type { OwnAccount } from '../../../../src/swaps/accounts/own-account.js';
import type { SwapFacts } from '../../../../src/swaps/transaction/plan.js';
import { composeWrap } from '../../../../src/swaps/transaction/sign-wrap.js';
import {
  BLOCKHASH,
  PYUSD,
  USDC,
  VENUE_SWAP,
  WALLET,
  WSOL,
  fromKit,
  someKey,
  toKit,
} from '../support.js';
import { swapDecoders as decoders } from '../../../../src/swaps/sources.js';

const RENT = 2_039_280n;
const MINIMUM = 890_880n;
const SIGNATURE = 5_000n;

interface Scenario {
  readonly input: 'SOL' | 'USDC';
  readonly output: 'SOL' | 'USDC' | 'PYUSD';
  readonly sourceExists: boolean;
  readonly sourceBalance: bigint;
  readonly outputExists: boolean;
  readonly outputBalance: bigint;
  readonly keepWrapped: boolean;
  readonly maxIn: bigint;
  readonly minOut: bigint;
  readonly reservedOutput: bigint;
  readonly isStrict: boolean;
}

const TOKENS = {
  SOL: { mint: WSOL, tokenProgram: TOKEN_PROGRAM, decimals: 9 },
  USDC: { mint: USDC, tokenProgram: TOKEN_PROGRAM, decimals: 6 },
  PYUSD: { mint: PYUSD, tokenProgram: TOKEN_2022_PROGRAM, decimals: 6 },
};

function own(symbol: keyof typeof TOKENS, exists: boolean, balance: bigint): OwnAccount {
  const token = TOKENS[symbol];
  const address = associatedTokenAddress(WALLET, token.mint, token.tokenProgram);
  const native = symbol === 'SOL' ? balance : 0n;
  return {
    ...token,
    address,
    exists,
    balance: exists ? balance : 0n,
    uncounted: 0n,
    lamports: exists ? RENT + native : 0n,
  };
}

const COMPUTE = { unitLimit: 200_000, unitPrice: 10_000n };

function compose(scenario: Scenario, lamports = 10n ** 15n) {
  const input = TOKENS[scenario.input];
  const output = TOKENS[scenario.output];
  const source = own(scenario.input, scenario.sourceExists, scenario.sourceBalance);
  const destination = own(scenario.output, scenario.outputExists, scenario.outputBalance);
  const facts: SwapFacts = {
    ...{
      source,
      output: destination,
      lamports,
      sourceRent: RENT,
      outputRent: RENT,
      sourceExcess: 0n,
      outputExcess: 0n,
    },
    reserved: { input: 0n, output: scenario.reservedOutput },
    leeway: { input: 0n, output: scenario.isStrict ? 0n : scenario.reservedOutput },
  };
  const instruction = fromKit(routeV2({ ...VENUE_SWAP, inAmount: 1n, quotedOutAmount: 1n }));
  const composed = composeSwap({
    expected: {
      decoders,
      wallet: WALLET,
      ...{
        inputMint: input.mint,
        outputMint: output.mint,
        inputProgram: input.tokenProgram,
        outputProgram: output.tokenProgram,
      },
      ...{ maxIn: scenario.maxIn, minOut: scenario.minOut, slippageBps: 50 },
    },
    ...{
      instruction,
      facts,
      keepWrapped: scenario.keepWrapped,
      compute: COMPUTE,
      blockhash: BLOCKHASH,
      lookupTables: [],
    },
  });
  return { ...composed, source, destination, instruction, facts };
}

/**
 * The name, the main account and the amount of each instruction, as kit decodes them from the
 * message.
 */
function read(message: Uint8Array) {
  const decoded = decompileTransactionMessage(
    getCompiledTransactionMessageDecoder().decode(message),
  );
  expect(decoded.feePayer.address).toBe(WALLET);
  // Kit types the result as its own output, but another builder compiled these bytes.
  const instructions: readonly KitInstruction[] = decoded.instructions;
  return instructions.map(({ programAddress, accounts = [], data = new Uint8Array() }) => {
    const bytes = new Uint8Array(data);
    const view = new DataView(bytes.buffer);
    const at = (index: number) => accounts[index]?.address;
    if (programAddress.startsWith('ComputeBudget'))
      return bytes[0] === 2
        ? `limit ${view.getUint32(1, true)}`
        : `price ${view.getBigUint64(1, true)}`;
    if (programAddress.startsWith('ATokenG')) return `create ${at(1)} for ${at(2)} ${bytes.join()}`;
    if (programAddress.startsWith('1111'))
      return `sol ${at(0)} ${at(1)} ${view.getBigUint64(4, true)}`;
    if (programAddress.startsWith('JUP6')) return 'swap';
    const names: Record<number, () => string> = {
      5: () => `revoke ${at(0)}`,
      6: () => `drop ${at(0)} ${bytes.slice(1).join()}`,
      9: () => `close ${at(0)} ${at(1)}`,
      12: () => `hold ${at(0)} ${at(2)} ${view.getBigUint64(1, true)}`,
      17: () => `sync ${at(0)}`,
    };
    return names[bytes[0] ?? -1]?.() ?? `unknown ${bytes.join()}`;
  });
}

const scenarios = fc
  .record({
    input: fc.constantFrom('SOL' as const, 'USDC' as const),
    output: fc.constantFrom('SOL' as const, 'USDC' as const, 'PYUSD' as const),
    sourceExists: fc.boolean(),
    sourceBalance: fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max: 10n ** 12n })),
    outputExists: fc.boolean(),
    outputBalance: fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max: 10n ** 12n })),
    keepWrapped: fc.boolean(),
    maxIn: fc.bigInt({ min: 1n, max: 10n ** 11n }),
    minOut: fc.bigInt({ min: 1n, max: 10n ** 11n }),
    reservedOutput: fc.bigInt({ min: 0n, max: 10n ** 12n }),
    isStrict: fc.boolean(),
  })
  .filter(({ input, output }) => input !== output)
  .filter(
    ({ input, sourceExists, sourceBalance, maxIn }) =>
      input === 'SOL' || (sourceExists && sourceBalance >= maxIn),
  );

describe('composeSwap', () => {
  it('writes exactly the instructions of a scenario, and guards the balances that remain', () => {
    fc.assert(
      fc.property(scenarios, (scenario) => {
        const { message, source, destination, instructions, guardFrom } = compose(scenario);
        const held = source.balance;
        const sol = scenario.input === 'SOL';
        const wrap = sol && scenario.maxIn > held ? scenario.maxIn - held : 0n;
        const closeSource = sol && held === 0n;
        const closeOutput =
          scenario.output === 'SOL' && !scenario.keepWrapped && destination.balance === 0n;
        const missing = scenario.isStrict ? 0n : scenario.reservedOutput;
        const outputLeft = destination.balance > missing ? destination.balance - missing : 0n;
        const guard = (account: string, least: bigint) => [
          `revoke ${account}`,
          `hold ${account} ${account} ${least}`,
          `drop ${account} 3,0`,
        ];
        const createSource = sol && !source.exists;
        const paid = SIGNATURE + 2_000n + wrap;
        const rent =
          (createSource && !closeSource ? RENT : 0n) +
          (!destination.exists && !closeOutput ? RENT : 0n);
        const back =
          (closeSource && source.exists ? RENT : 0n) +
          (closeOutput && destination.exists ? RENT : 0n) +
          (closeOutput ? scenario.minOut : 0n);
        const expected = [
          'limit 200000',
          'price 10000',
          ...(createSource ? [`create ${source.address} for ${WALLET} 1`] : []),
          ...(destination.exists ? [] : [`create ${destination.address} for ${WALLET} 1`]),
          ...(wrap > 0n
            ? [`sol ${WALLET} ${source.address} ${wrap}`, `sync ${source.address}`]
            : []),
          'swap',
          ...(closeSource ? [`close ${source.address} ${WALLET}`] : []),
          ...(closeOutput ? [`close ${destination.address} ${WALLET}`] : []),
        ];
        expect(read(message)).toEqual([
          ...expected,
          ...(closeSource ? [] : guard(source.address, held + wrap - scenario.maxIn)),
          ...(closeOutput ? [] : guard(destination.address, outputLeft + scenario.minOut)),
          `sol ${WALLET} ${WALLET} ${10n ** 15n - paid - rent + back}`,
        ]);
        expect(guardFrom).toBe(expected.length);
        expect(instructions.length).toBe(read(message).length);
      }),
      { numRuns: 300 },
    );
  });

  it('keeps the data and the accounts of the swap instruction', () => {
    const { message, instruction } = compose(USDC_TO_PYUSD);
    const swap = decompileTransactionMessage(
      getCompiledTransactionMessageDecoder().decode(message),
    ).instructions.find((entry) => entry.programAddress.startsWith('JUP6'));
    const kit = toKit(instruction);
    expect([...(swap?.data ?? [])]).toEqual(kit.data);
    expect(swap?.accounts?.map((account) => account.address)).toEqual(
      kit.accounts.map((account) => account.address),
    );
  });

  it('requires a single signature, with the wallet as the fee payer', () => {
    const { header, staticAccounts } = getCompiledTransactionMessageDecoder().decode(
      compose(USDC_TO_PYUSD).message,
    );
    expect(header).toMatchObject({ numSignerAccounts: 1, numReadonlySignerAccounts: 0 });
    expect(staticAccounts[0]).toBe(WALLET);
  });

  it('refuses a source that holds less than the swap may take', () => {
    for (const scenario of [
      { ...USDC_TO_PYUSD, sourceBalance: USDC_TO_PYUSD.maxIn - 1n },
      { ...USDC_TO_PYUSD, sourceExists: false },
    ]) {
      expect(() => compose(scenario)).toThrow(
        expect.objectContaining({ code: 'insufficient_funds', funds: 'untouched' }),
      );
    }
  });

  it('reports a transaction that is too large, so that the caller can ask for fewer accounts', () => {
    const { facts, instruction } = compose(USDC_TO_PYUSD);
    const accounts = [
      ...instruction.accounts,
      ...Array.from({ length: 40 }, (_, n) => ({
        address: someKey(100 + n),
        signer: false,
        writable: false,
      })),
    ];
    const expected = {
      wallet: WALLET,
      inputMint: USDC,
      outputMint: PYUSD,
      inputProgram: TOKEN_PROGRAM,
      outputProgram: TOKEN_2022_PROGRAM,
    };
    const parts = {
      expected: { ...expected, decoders, maxIn: 1n, minOut: 1n, slippageBps: 50 },
      facts,
      keepWrapped: false,
      compute: COMPUTE,
    };
    let thrown: unknown;
    try {
      composeSwap({
        ...parts,
        instruction: { ...instruction, accounts },
        blockhash: BLOCKHASH,
        lookupTables: [],
      });
    } catch (error) {
      thrown = error;
    }
    expect(isExactChangeError(thrown, 'transaction_too_large')).toBe(true);
    expect(maxAccountsLadder).toEqual([48, 40, 32, 24, 20]);
  });
});

const USDC_TO_PYUSD: Scenario = {
  ...{
    input: 'USDC',
    output: 'PYUSD',
    sourceExists: true,
    sourceBalance: 5_000_000n,
    outputExists: false,
    outputBalance: 0n,
  },
  ...{
    keepWrapped: false,
    maxIn: 1_000_000n,
    minOut: 990_000n,
    reservedOutput: 0n,
    isStrict: false,
  },
};

describe('composeWrap', () => {
  it.each([
    [false, 0n],
    [true, 77n],
  ])('wraps SOL with pinned programs (account exists: %s)', (exists, balance) => {
    const account = own('SOL', exists, balance);
    const { message, floors } = composeWrap({
      ...{
        wallet: WALLET,
        account,
        amount: 1_000n,
        availableLamports: 10n ** 9n,
        rent: exists ? 0n : RENT,
        compute: COMPUTE,
        blockhash: BLOCKHASH,
      },
    });
    expect(read(message)).toEqual([
      'limit 200000',
      'price 10000',
      ...(exists ? [] : [`create ${account.address} for ${WALLET} 1`]),
      `sol ${WALLET} ${account.address} 1000`,
      `sync ${account.address}`,
    ]);
    expect(floors.tokens[0]?.least).toBe(balance + 1_000n);
    expect(floors.lamports).toBe(10n ** 9n - SIGNATURE - 2_000n - 1_000n - (exists ? 0n : RENT));
  });
});

describe('the lamport budget', () => {
  const budget = {
    networkFee: SIGNATURE,
    priorityFee: 2_000n,
    rent: RENT,
    temporaryRent: RENT,
    wrapped: 100n,
    returned: 7n,
  };

  it('requires every lamport that the transaction touches, and the minimum of the wallet', () => {
    expect(requiredLamports(budget, MINIMUM)).toBe(
      SIGNATURE + 2_000n + RENT + RENT + 100n + MINIMUM,
    );
    const required = requiredLamports(budget, MINIMUM);
    expect(() => checkBudget(WALLET, budget, required, MINIMUM, RENT)).not.toThrow();
    expect(() => checkBudget(WALLET, budget, required - 1n, MINIMUM, RENT)).toThrow(
      expect.objectContaining({
        code: 'insufficient_sol',
        details: {
          requiredLamports: String(required),
          availableLamports: String(required - 1n),
          link: `solana:${WALLET}?amount=0.000000001`,
        },
      }),
    );
    expect(() => checkBudget(WALLET, budget, required, MINIMUM, RENT - 1n)).toThrow(
      expect.objectContaining({ code: 'fees_over_limit' }),
    );
  });

  it('never pays more priority fee than allowed, whatever the market asks', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
        fc.integer({ min: 1, max: 1_400_000 }),
        fc.bigInt({ min: 0n, max: 10n ** 9n }),
        (price, unitLimit, most) => {
          expect(
            priorityFee({ unitLimit, unitPrice: boundedUnitPrice(price, unitLimit, most) }),
          ).toBeLessThanOrEqual(most);
        },
      ),
    );
  });
});
