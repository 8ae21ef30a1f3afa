import { base58 } from '@scure/base';
import { describe, expect, it } from 'vitest';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../../../src/network.js';
import {
  ASSOCIATED_TOKEN_PROGRAM,
  JUPITER_PROGRAM,
  SYSTEM_PROGRAM,
} from '../../../../src/solana/programs.js';
import { readInner } from '../../../../src/solana/transactions/inner.js';
import { type InnerSubject, innerRules } from '../../../../src/swaps/firewall/inner-rules.js';
import { brokenBy } from '../../../../src/swaps/firewall/rule.js';
import { DESTINATION, SOURCE, STRANGER, USDC, WALLET, someKey } from '../support.js';

const SWAP = 2;
const VAULT = someKey(20);
const POOL = someKey(30);
const NONCE = someKey(40);
const SYSVAR = 'SysvarRecentB1ockHashes11111111111111111111';
const RENT = 'SysvarRent111111111111111111111111111111111';

/** A call inside the swap, in the two forms that a node may show. */
interface Call {
  readonly program: string;
  /** The first bytes of the data. */
  readonly opcode: readonly number[];
  readonly accounts: readonly string[];
  readonly type: string;
  readonly info: object;
}

const isKey = (value: unknown) => typeof value === 'string' && value.length >= 32;
/** The accounts of a call, which most calls show in the order of their data. */
const keysIn = (info: object) => Object.values(info).flat().filter(isKey);
const system = (opcode: number, type: string, info: object, accounts = keysIn(info)): Call => ({
  ...{ program: SYSTEM_PROGRAM, opcode: [opcode, 0, 0, 0], accounts, type, info },
});
const token = (
  opcode: readonly number[],
  type: string,
  info: object,
  accounts = keysIn(info),
): Call => ({ ...{ program: TOKEN_PROGRAM, opcode, accounts, type, info } });

/** A call that every swap makes, so that the rules judge the call beside it. */
const PAYS_IN = token(
  [12],
  'transferChecked',
  {
    ...{
      source: SOURCE,
      mint: USDC,
      destination: VAULT,
      authority: WALLET,
      tokenAmount: { amount: '5' },
    },
  },
  [SOURCE, USDC, VAULT, WALLET],
);

const parsed = ({ program, type, info }: Call) => ({ programId: program, parsed: { type, info } });
const raw = ({ program, opcode, accounts }: Call) => ({
  ...{
    programId: program,
    accounts,
    data: base58.encode(Uint8Array.from([...opcode, 1, 2, 3, 4, 5, 6, 7, 8])),
  },
});
const FORMS = [parsed, raw];

const subject = (
  calls: readonly ReturnType<typeof parsed | typeof raw>[],
  outer = SWAP,
): InnerSubject => ({
  inner: readInner([
    { index: SWAP, instructions: [parsed(PAYS_IN)] },
    { index: outer, instructions: calls },
  ]),
  swapIndex: SWAP,
  wallet: WALLET,
  own: [SOURCE, DESTINATION],
});
const ruleOf = (judged: InnerSubject) => brokenBy(innerRules, judged)?.id;

const seeded = { base: WALLET, seed: 'x', owner: STRANGER };
const nonce = { nonceAccount: NONCE, nonceAuthority: WALLET };

const SYSTEM_HARM: readonly Call[] = [
  system(1, 'assign', { account: WALLET, owner: STRANGER }, [WALLET]),
  system(3, 'createAccountWithSeed', { source: STRANGER, newAccount: WALLET, ...seeded }, [
    STRANGER,
    WALLET,
  ]),
  system(
    0,
    'createAccount',
    { source: STRANGER, newAccount: WALLET, lamports: 1, space: 9, owner: STRANGER },
    [STRANGER, WALLET],
  ),
  system(0, 'createAccount', { source: WALLET, lamports: 1, space: 9, owner: STRANGER }, [WALLET]),
  system(
    13,
    'createAccountAllowPrefund',
    { newAccount: WALLET, source: STRANGER, lamports: 1, owner: STRANGER },
    [WALLET, STRANGER],
  ),
  system(13, 'createAccountAllowPrefund', { newAccount: WALLET, space: 9, owner: STRANGER }, [
    WALLET,
  ]),
  system(4, 'advanceNonce', { ...nonce, recentBlockhashesSysvar: SYSVAR }, [NONCE, SYSVAR, WALLET]),
  system(5, 'withdrawFromNonce', { ...nonce, destination: STRANGER, lamports: 1 }, [
    NONCE,
    STRANGER,
    SYSVAR,
    RENT,
    WALLET,
  ]),
  system(6, 'initializeNonce', { nonceAccount: WALLET, nonceAuthority: STRANGER }, [
    WALLET,
    SYSVAR,
    RENT,
  ]),
  system(7, 'authorizeNonce', { ...nonce, newAuthorized: STRANGER }, [NONCE, WALLET]),
  system(8, 'allocate', { account: WALLET, space: 9 }),
  system(9, 'allocateWithSeed', { account: NONCE, space: 9, ...seeded }, [NONCE, WALLET]),
  system(10, 'assignWithSeed', { account: NONCE, ...seeded }, [NONCE, WALLET]),
  system(11, 'transferWithSeed', {
    source: NONCE,
    sourceBase: WALLET,
    destination: STRANGER,
    lamports: 1,
  }),
  system(12, 'upgradeNonce', { nonceAccount: WALLET }),
  system(99, 'somethingNew', { account: WALLET }),
];

const SYSTEM_FINE: readonly Call[] = [
  system(2, 'transfer', { source: WALLET, destination: STRANGER, lamports: 1 }),
  system(
    0,
    'createAccount',
    { source: WALLET, newAccount: NONCE, lamports: 1, space: 165, owner: TOKEN_PROGRAM },
    [WALLET, NONCE],
  ),
  system(3, 'createAccountWithSeed', { source: WALLET, newAccount: NONCE, ...seeded }, [
    WALLET,
    NONCE,
  ]),
  system(
    13,
    'createAccountAllowPrefund',
    { newAccount: NONCE, source: WALLET, lamports: 1, owner: TOKEN_PROGRAM },
    [NONCE, WALLET],
  ),
  system(1, 'assign', { account: NONCE, owner: TOKEN_PROGRAM }, [NONCE]),
  system(8, 'allocate', { account: NONCE, space: 165 }),
];

const byWallet = { authority: WALLET };
const ofWallet = { owner: WALLET };

const TOKEN_HARM: readonly Call[] = [
  token([0], 'initializeMint', { mint: SOURCE, mintAuthority: STRANGER }, [SOURCE, RENT]),
  token([1], 'initializeAccount', { account: SOURCE, mint: USDC, owner: STRANGER }, [
    SOURCE,
    USDC,
    STRANGER,
    RENT,
  ]),
  token([2], 'initializeMultisig', { multisig: NONCE, signers: [WALLET] }, [NONCE, RENT, WALLET]),
  token([4], 'approve', { source: SOURCE, delegate: STRANGER, ...ofWallet }),
  token([4], 'approve', {
    source: NONCE,
    delegate: STRANGER,
    multisigOwner: POOL,
    signers: [WALLET],
  }),
  token([5], 'revoke', { source: SOURCE, ...ofWallet }),
  token(
    [6, 2],
    'setAuthority',
    { account: SOURCE, authorityType: 'accountOwner', newAuthority: STRANGER, ...byWallet },
    [SOURCE, WALLET],
  ),
  token([6, 3], 'setAuthority', {
    account: DESTINATION,
    authorityType: 'closeAccount',
    ...byWallet,
  }),
  token(
    [6, 0],
    'setAuthority',
    { mint: NONCE, authorityType: 'mintTokens', newAuthority: STRANGER, ...byWallet },
    [NONCE, WALLET],
  ),
  token([7], 'mintTo', { mint: NONCE, account: VAULT, mintAuthority: WALLET, amount: '1' }),
  token([7], 'mintTo', { mint: NONCE, account: SOURCE, mintAuthority: WALLET, amount: '1' }),
  token([9], 'closeAccount', { account: SOURCE, destination: STRANGER, ...ofWallet }),
  token([9], 'closeAccount', { account: SOURCE, destination: STRANGER, owner: STRANGER }),
  token([10], 'freezeAccount', { account: DESTINATION, mint: USDC, freezeAuthority: STRANGER }),
  token([11], 'thawAccount', { account: DESTINATION, mint: USDC, freezeAuthority: STRANGER }),
  token([13], 'approveChecked', { source: SOURCE, mint: USDC, delegate: STRANGER, ...ofWallet }),
  token([14], 'mintToChecked', { mint: NONCE, account: VAULT, mintAuthority: WALLET }),
  token([16], 'initializeAccount2', { account: SOURCE, mint: USDC, owner: STRANGER }, [
    SOURCE,
    USDC,
    RENT,
  ]),
  token([18], 'initializeAccount3', { account: DESTINATION, mint: USDC, owner: STRANGER }, [
    DESTINATION,
    USDC,
  ]),
  token([19], 'initializeMultisig2', { multisig: NONCE, signers: [WALLET] }),
  token([20], 'initializeMint2', { mint: SOURCE, mintAuthority: STRANGER }, [SOURCE]),
  token([22], 'initializeImmutableOwner', { account: DESTINATION }),
  token([25], 'initializeMintCloseAuthority', { mint: SOURCE, newAuthority: STRANGER }, [SOURCE]),
  token(
    [26, 3],
    'withdrawWithheldTokensFromAccounts',
    { mint: USDC, feeRecipient: VAULT, sourceAccounts: [SOURCE] },
    [USDC, VAULT, WALLET, SOURCE],
  ),
  token([27, 2], 'configureConfidentialTransferAccount', {
    account: SOURCE,
    mint: USDC,
    ...ofWallet,
  }),
  token([29], 'reallocate', { account: SOURCE, payer: WALLET, ...ofWallet }, [
    SOURCE,
    WALLET,
    SYSTEM_PROGRAM,
    WALLET,
  ]),
  token([30, 0], 'enableRequiredMemoTransfers', { account: SOURCE, ...ofWallet }),
  token([34, 1], 'disableCpiGuard', { account: SOURCE, ...ofWallet }),
  token([38], 'withdrawExcessLamports', { source: SOURCE, destination: STRANGER, ...byWallet }),
  token([45, 0], 'unwrapLamports', { source: SOURCE, destination: STRANGER, ...byWallet }),
  token(
    [255, 3, 9, 3],
    'batch',
    {
      ...{
        instructions: [
          { type: 'transfer', info: { source: SOURCE, destination: VAULT, ...byWallet } },
        ],
      },
    },
    [SOURCE, VAULT, WALLET],
  ),
  token([200], 'somethingNew', { account: DESTINATION }),
];

const TOKEN_FINE: readonly Call[] = [
  token([3], 'transfer', { source: SOURCE, destination: VAULT, ...byWallet }),
  token([12], 'transferChecked', {
    source: VAULT,
    mint: USDC,
    destination: DESTINATION,
    authority: POOL,
  }),
  token([26, 1], 'transferCheckedWithFee', {
    source: SOURCE,
    mint: USDC,
    destination: VAULT,
    ...byWallet,
  }),
  token([17], 'syncNative', { account: DESTINATION }),
  token([21], 'getAccountDataSize', { mint: USDC }),
  token([7], 'mintTo', { mint: USDC, account: DESTINATION, mintAuthority: POOL, amount: '1' }),
  token([14], 'mintToChecked', { mint: USDC, account: DESTINATION, mintAuthority: POOL }),
  token([4], 'approve', { source: VAULT, delegate: STRANGER, owner: POOL }),
  token([8], 'burn', { account: SOURCE, mint: USDC, amount: '1', ...byWallet }),
  token([15], 'burnChecked', { account: SOURCE, mint: USDC, ...byWallet }),
  token([8], 'burn', { account: VAULT, mint: USDC, authority: POOL }),
  token([9], 'closeAccount', { account: VAULT, destination: WALLET, owner: WALLET }),
  token([9], 'closeAccount', { account: VAULT, destination: POOL, owner: POOL }),
  token([18], 'initializeAccount3', { account: VAULT, mint: USDC, owner: POOL }, [VAULT, USDC]),
];

const cases = (calls: readonly Call[]) => calls.map((call) => [call.type, call] as const);

describe('innerRules', () => {
  it.each(cases(SYSTEM_HARM))(
    'refuses %s of the System program if it can change the wallet',
    (_, call) => {
      for (const form of FORMS) expect(ruleOf(subject([form(call)]))).toBe('inner_system');
    },
  );

  it.each(cases(SYSTEM_FINE))(
    'passes %s of the System program if lamport balances show its effect',
    (_, call) => {
      for (const form of FORMS) expect(ruleOf(subject([form(call)]))).toBeUndefined();
    },
  );

  it.each(cases(TOKEN_HARM))(
    'refuses %s of both token programs on accounts of the wallet',
    (_, call) => {
      for (const form of FORMS) {
        expect(ruleOf(subject([form(call)]))).toBe('inner_token');
        expect(ruleOf(subject([form({ ...call, program: TOKEN_2022_PROGRAM })]))).toBe(
          'inner_token',
        );
      }
    },
  );

  it.each(cases(TOKEN_FINE))(
    'passes %s of both token programs if balances show its effect, or on accounts of the venue',
    (_, call) => {
      for (const form of FORMS) {
        expect(ruleOf(subject([form(call)]))).toBeUndefined();
        expect(ruleOf(subject([form({ ...call, program: TOKEN_2022_PROGRAM })]))).toBeUndefined();
      }
    },
  );

  it('ignores instructions of other programs, whatever their names', () => {
    const [assign, approve] = [SYSTEM_HARM[0]!, TOKEN_HARM[3]!];
    for (const program of [JUPITER_PROGRAM, ASSOCIATED_TOKEN_PROGRAM]) {
      for (const form of FORMS)
        expect(
          ruleOf(subject([form({ ...assign, program }), form({ ...approve, program })])),
        ).toBeUndefined();
    }
  });

  it('finds a harmful call among harmless calls', () => {
    const fine = [...SYSTEM_FINE, ...TOKEN_FINE].map(raw);
    expect(ruleOf(subject(fine))).toBeUndefined();
    for (const call of TOKEN_HARM)
      expect(ruleOf(subject([...fine, raw(call), ...fine]))).toBe('inner_token');
    for (const call of SYSTEM_HARM)
      expect(ruleOf(subject([...fine, parsed(call)]))).toBe('inner_system');
  });

  it('judges only the swap, because the client composes all other instructions', () => {
    for (const outer of [SWAP - 1, SWAP + 1])
      expect(ruleOf(subject([...SYSTEM_HARM, ...TOKEN_HARM].map(raw), outer))).toBeUndefined();
  });

  it('refuses calls that a node does not show, or shows only for another instruction', () => {
    const shown = subject([]);
    expect(ruleOf(shown)).toBeUndefined();
    expect(ruleOf({ ...shown, inner: undefined })).toBe('inner_shown');
    expect(ruleOf({ ...shown, inner: [] })).toBe('inner_shown');
    expect(ruleOf({ ...shown, swapIndex: SWAP + 1 })).toBe('inner_shown');
  });

  it('completes the sentence of a refusal, and gives the reason in a sentence', () => {
    for (const { refuses, why } of innerRules) {
      expect(refuses).toMatch(/^[a-z][^.]*[^.]$/);
      expect(why).toMatch(/^[A-Z][^.]*\.$/);
    }
  });
});
