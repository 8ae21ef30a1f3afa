import { getAddressEncoder, address } from '@solana/kit';
import { describe, expect, it } from 'vitest';
import {
  exactOutRouteV2,
  routeV2,
  sharedAccountsExactOutRouteV2,
  sharedAccountsRouteV2,
} from '../../../../adapters/sandbox/venue/venue.mjs';
import { isExactChangeError } from '../../../../src/errors.js';
import type { Instruction } from '../../../../src/solana/types.js';
import {
  checkExposure,
  type Exposed,
  foreignAccounts,
} from '../../../../src/swaps/firewall/exposure.js';
import { checkSwap } from '../../../../src/swaps/firewall/instruction-rules.js';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../../../src/network.js';
import { associatedTokenAddress } from '../../../../src/solana/tokens/accounts.js';
import { createSeedSigner } from '../../../../src/solana/keys.js';
import {
  DESTINATION,
  EXPECTED,
  PYUSD,
  SOURCE,
  STRANGER,
  USDC,
  VENUE_SWAP,
  WALLET,
  account,
  fromKit,
  someKey,
  withAccount,
} from '../support.js';

const exactIn = { ...VENUE_SWAP, inAmount: 1_005_000n, quotedOutAmount: 1_000_000n };
const exactOut = { ...VENUE_SWAP, outAmount: 1_000_000n, quotedInAmount: 1_000_000n };

const FORMS = {
  route_v2: { instruction: fromKit(routeV2(exactIn)), amounts: 8 },
  exact_out_route_v2: { instruction: fromKit(exactOutRouteV2(exactOut)), amounts: 8 },
  shared_accounts_route_v2: {
    instruction: fromKit(sharedAccountsRouteV2({ ...exactIn, id: 3 })),
    amounts: 9,
  },
  shared_accounts_exact_out_route_v2: {
    instruction: fromKit(sharedAccountsExactOutRouteV2({ ...exactOut, id: 3 })),
    amounts: 9,
  },
};

/** Account positions, repeated here because the table under test must not prove itself. */
const PLACES = {
  plain: {
    user: 0,
    source: 1,
    destination: 2,
    sourceMint: 3,
    destinationMint: 4,
    sourceProgram: 5,
    destinationProgram: 6,
    event: 8,
    self: 9,
  },
  shared: {
    user: 1,
    source: 2,
    destination: 5,
    sourceMint: 6,
    destinationMint: 7,
    sourceProgram: 8,
    destinationProgram: 9,
    event: 10,
    self: 11,
  },
};

function ruleBrokenBy(instruction: Instruction, expected = EXPECTED): string | undefined {
  try {
    checkSwap(instruction, expected);
    return undefined;
  } catch (error) {
    if (isExactChangeError(error, 'unsafe_swap')) {
      expect(error).toMatchObject({ name: 'QuoteError', funds: 'untouched', moved: [] });
      return error.details.rule;
    }
    throw error;
  }
}

function withNumber(
  instruction: Instruction,
  offset: number,
  value: bigint,
  bytes: 2 | 8,
): Instruction {
  const data = instruction.data.slice();
  const view = new DataView(data.buffer);
  if (bytes === 8) view.setBigUint64(offset, value, true);
  else view.setUint16(offset, Number(value), true);
  return { ...instruction, data };
}

describe.each(Object.entries(FORMS))('the instruction %s', (form, { instruction, amounts }) => {
  const places = form.startsWith('shared') ? PLACES.shared : PLACES.plain;
  const outExact = form.includes('exact_out');

  it('is decoded with its accounts and amounts, and passes', () => {
    expect(checkSwap(instruction, EXPECTED)).toMatchObject({
      user: WALLET,
      source: SOURCE,
      destination: DESTINATION,
      destinationOverride: undefined,
      maxIn: 1_005_000n,
      minOut: outExact ? 1_000_000n : 995_000n,
      slippageBps: 50,
      platformFeeBps: 0,
      positiveSlippageBps: 0,
    });
  });

  const tampered: [string, string, Instruction][] = [
    ['another program', 'swap_program', { ...instruction, program: STRANGER }],
    [
      'an unknown discriminator',
      'jupiter_form',
      { ...instruction, data: Uint8Array.from([1, ...instruction.data.slice(1)]) },
    ],
    ['no data', 'jupiter_form', { ...instruction, data: new Uint8Array() }],
    [
      'data cut before the route',
      'jupiter_truncated',
      { ...instruction, data: instruction.data.slice(0, amounts + 22) },
    ],
    [
      'accounts cut before the program',
      'jupiter_truncated',
      { ...instruction, accounts: instruction.accounts.slice(0, places.self) },
    ],
    [
      'a hundred more accounts',
      'swap_accounts',
      {
        ...instruction,
        accounts: Array.from({ length: 129 }, (_, i) => instruction.accounts[i % 10] ?? raise()),
      },
    ],
    [
      'a second signer',
      'extra_signer',
      {
        ...instruction,
        accounts: [...instruction.accounts, { address: STRANGER, signer: true, writable: false }],
      },
    ],
    [
      'another user',
      'swap_user',
      withAccount(instruction, places.user, { address: STRANGER, signer: false }),
    ],
    [
      'the source of a stranger',
      'swap_source',
      withAccount(instruction, places.source, { address: STRANGER }),
    ],
    [
      'the destination of a stranger',
      'swap_destination',
      withAccount(instruction, places.destination, { address: STRANGER }),
    ],
    [
      'the output paid into the source',
      'swap_destination',
      withAccount(instruction, places.destination, { address: SOURCE }),
    ],
    [
      'another input mint',
      'swap_input_mint',
      withAccount(instruction, places.sourceMint, { address: STRANGER }),
    ],
    [
      'another output mint',
      'swap_output_mint',
      withAccount(instruction, places.destinationMint, { address: USDC }),
    ],
    [
      'another input program',
      'swap_input_program',
      withAccount(instruction, places.sourceProgram, { address: STRANGER }),
    ],
    [
      'another output program',
      'swap_output_program',
      withAccount(instruction, places.destinationProgram, { address: STRANGER }),
    ],
    [
      'another event authority',
      'jupiter_event_authority',
      withAccount(instruction, places.event, { address: STRANGER }),
    ],
    [
      'another program account',
      'jupiter_event_authority',
      withAccount(instruction, places.self, { address: STRANGER }),
    ],
    [
      'more input',
      'swap_max_in',
      withNumber(instruction, amounts + (outExact ? 8 : 0), 1_005_001n, 8),
    ],
    [
      'the highest input',
      'swap_max_in',
      withNumber(instruction, amounts + (outExact ? 8 : 0), 2n ** 64n - 1n, 8),
    ],
    ['no input', 'swap_max_in', withNumber(instruction, amounts + (outExact ? 8 : 0), 0n, 8)],
    [
      'less output',
      'swap_min_out',
      withNumber(instruction, amounts + (outExact ? 0 : 8), outExact ? 994_999n : 999_998n, 8),
    ],
    ['no output', 'swap_min_out', withNumber(instruction, amounts + (outExact ? 0 : 8), 0n, 8)],
    [
      'full slippage',
      outExact ? 'swap_max_in' : 'swap_min_out',
      withNumber(instruction, amounts + 16, 10_000n, 2),
    ],
    [
      'the highest slippage',
      outExact ? 'swap_max_in' : 'swap_min_out',
      withNumber(instruction, amounts + 16, 65_535n, 2),
    ],
    ['a platform fee', 'platform_fee', withNumber(instruction, amounts + 18, 1n, 2)],
    [
      'a share of the better price',
      'positive_slippage',
      withNumber(instruction, amounts + 20, 1n, 2),
    ],
  ];

  it.each(tampered)('is refused with %s, by the rule %s', (_, rule, instruction) => {
    expect(ruleBrokenBy(instruction)).toBe(rule);
  });

  it('allows no more slippage, even if the bounds hold', () => {
    const loose = { ...EXPECTED, maxIn: 2_000_000n, minOut: 1n };
    expect(ruleBrokenBy(withNumber(instruction, amounts + 16, 51n, 2), loose)).toBe(
      'swap_slippage',
    );
    expect(ruleBrokenBy(instruction, loose)).toBeUndefined();
  });
});

describe('the destination override', () => {
  it('may be the account of the wallet, and no other account', () => {
    const over = (override: string) =>
      fromKit(routeV2({ ...exactIn, override: address(override) }));
    expect(ruleBrokenBy(over(DESTINATION))).toBeUndefined();
    expect(ruleBrokenBy(over(STRANGER))).toBe('swap_destination_override');
    expect(ruleBrokenBy(over(SOURCE))).toBe('swap_destination_override');
  });
});

describe('an unknown instruction form', () => {
  it.each([
    ['route_with_token_ledger', '96564774a75d0e68'],
    ['shared_accounts_route_with_token_ledger', 'e6798f50779f6aaa'],
    ['claim', '3ec6d6c1d59f6cd2'],
    ['create_idempotent_associated_token_account', '5368c0960000aaaa'],
  ])('is refused: %s', (_, discriminator) => {
    const data = Uint8Array.from([
      ...Buffer.from(discriminator, 'hex'),
      ...FORMS.route_v2.instruction.data.slice(8),
    ]);
    expect(ruleBrokenBy({ ...FORMS.route_v2.instruction, data })).toBe('jupiter_form');
  });
});

/** An address that has a private key. */
const OUTSIDER = createSeedSigner(new Uint8Array(32).fill(5)).address;

describe('the check of the accounts that a venue could reach', () => {
  const wallet = getAddressEncoder().encode(WALLET);
  const naming = (owner: string, offset: number) => {
    const data = new Uint8Array(200);
    data.set(wallet, offset);
    return account(owner, data);
  };

  const writable = (held: Exposed['account'], address: string = STRANGER): Exposed => ({
    address,
    writable: true,
    account: held,
  });
  const readonly = (held: Exposed['account']): Exposed => ({
    address: STRANGER,
    writable: false,
    account: held,
  });

  it('omits the accounts of the swap, and marks accounts that the swap can write', () => {
    const found = foreignAccounts(FORMS.route_v2.instruction, [WALLET, SOURCE, DESTINATION]);
    expect(found.filter((entry) => entry.writable).map((entry) => entry.address)).toEqual([
      VENUE_SWAP.vaultIn,
      VENUE_SWAP.vaultOut,
    ]);
    expect(found.some((entry) => [WALLET, SOURCE, DESTINATION].includes(entry.address))).toBe(
      false,
    );
    expect(new Set(found.map((entry) => entry.address)).size).toBe(found.length);
  });

  it('omits programs of the network, unless they are writable', () => {
    const named = (writable: boolean) => ({ address: TOKEN_PROGRAM, signer: false, writable });
    const { accounts, ...rest } = FORMS.route_v2.instruction;
    const found = (...more: ReturnType<typeof named>[]) =>
      foreignAccounts({ ...rest, accounts: [...accounts, ...more] }, []).filter(
        ({ address }) => address === TOKEN_PROGRAM,
      );
    expect(accounts.some(({ address }) => address === TOKEN_PROGRAM)).toBe(true);
    expect(found()).toEqual([]);
    expect(found(named(false))).toEqual([]);
    expect(found(named(true))).toEqual([named(true)]);
  });

  it('counts an account as writable if it is writable in any position', () => {
    const { accounts, ...rest } = FORMS.route_v2.instruction;
    const twice = [STRANGER, STRANGER].map((address, index) => ({
      address,
      signer: false,
      writable: index === 1,
    }));
    const found = foreignAccounts({ ...rest, accounts: [...accounts, ...twice] }, []);
    expect(found.filter((entry) => entry.address === STRANGER)).toEqual([twice[1]]);
  });

  it.each([
    ['a token account of the wallet', 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA', 32],
    [
      'a token account that the wallet may spend from',
      'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
      76,
    ],
    ['a mint of the wallet', 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA', 4],
    ['a stake of the wallet', 'Stake11111111111111111111111111111111111111', 12],
    ['a nonce of the wallet', '11111111111111111111111111111111', 8],
    ['a vote account of the wallet', 'Vote111111111111111111111111111111111111111', 4],
    ['a program of the wallet', 'BPFLoaderUpgradeab1e11111111111111111111111', 13],
    ['a lookup table of the wallet', 'AddressLookupTab1e1111111111111111111111111', 22],
    ['a loan of the wallet at an unknown program', someKey(50), 8],
    ['the wallet at the end of the data', 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA', 168],
  ])('refuses %s', (_, owner, offset) => {
    expect(() => checkExposure(WALLET, [readonly(null), writable(naming(owner, offset))])).toThrow(
      expect.objectContaining({ details: { rule: 'exposed_account' } }),
    );
  });

  it.each([
    'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
    'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
  ])('refuses a multisig of %s that includes the wallet, even if it is read-only', (program) => {
    const data = new Uint8Array(355);
    data.set(wallet, 3 + 32);
    expect(() => checkExposure(WALLET, [readonly(account(program, data))])).toThrow(
      expect.objectContaining({ details: { rule: 'exposed_multisig' } }),
    );
  });

  it.each<[string, Exposed['account']]>([
    ['nothing', null],
    ['nothing but lamports', account('11111111111111111111111111111111', new Uint8Array())],
  ])('refuses a vacant address of an account of the wallet that holds %s', (_, held) => {
    const vacant = (mint: string, tokenProgram: string) =>
      writable(held, associatedTokenAddress(WALLET, mint, tokenProgram));
    const broken = expect.objectContaining({
      details: { rule: 'exposed_vacancy' },
    }) as unknown as Error;
    const pinned = vacant(PYUSD, TOKEN_2022_PROGRAM);
    expect(() => checkExposure(WALLET, [pinned])).toThrow(broken);
    expect(() => checkExposure(WALLET, [{ ...pinned, writable: false }])).not.toThrow();
    // The same holds for a token that is not pinned, if the swap names its mint.
    const mint = account(
      TOKEN_PROGRAM,
      Uint8Array.from({ length: 82 }, (_byte, index) => Number(index === 45)),
    );
    const other = vacant(OUTSIDER, TOKEN_PROGRAM);
    expect(() => checkExposure(WALLET, [other])).not.toThrow();
    expect(() => checkExposure(WALLET, [other, { ...readonly(mint), address: OUTSIDER }])).toThrow(
      broken,
    );
    // A vacant address of a venue is allowed, such as a price range without trades.
    expect(() => checkExposure(WALLET, [writable(held, someKey(60))])).not.toThrow();
  });

  it('accepts accounts of strangers, and read-only accounts that name the wallet', () => {
    const token = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
    const multisigOfOthers = account(token, new Uint8Array(355).fill(9));
    const harmless = [
      readonly(naming(token, 32)),
      writable(account(token, new Uint8Array(165))),
      readonly(multisigOfOthers),
      writable(null),
    ];
    expect(() => checkExposure(WALLET, harmless)).not.toThrow();
  });
});

function raise(): never {
  throw new Error('no such account');
}
