import {
  AccountRole,
  address,
  appendTransactionMessageInstructions,
  compileTransactionMessage,
  createTransactionMessage,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
} from '@solana/kit';
import { type Compiled, compile, decompile, guardOn, insert } from '../helpers/changing-wallet.js';
import { BLOCKHASH, someKey } from '../unit/swaps/support.js';

const FEE_PAYER = someKey(1);
export const WALLET = someKey(3);
const SOURCE = someKey(5);
const DESTINATION = someKey(7);
const MINT = someKey(9);
export const OTHER = someKey(11);
const TOKEN = address('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA');
const BUDGET = address('ComputeBudget111111111111111111111111111111');

/** A payment as kit compiles it. */
export const payment = decompile(
  compile(
    compileTransactionMessage(
      pipe(
        createTransactionMessage({ version: 0 }),
        (message) => setTransactionMessageFeePayer(FEE_PAYER, message),
        (message) =>
          setTransactionMessageLifetimeUsingBlockhash(
            // An address has the same format as a blockhash.
            { blockhash: BLOCKHASH as never, lastValidBlockHeight: 1n },
            message,
          ),
        (message) =>
          appendTransactionMessageInstructions(
            [
              { programAddress: BUDGET, data: Uint8Array.of(2, 32, 78, 0, 0) },
              { programAddress: BUDGET, data: Uint8Array.of(3, 1, 0, 0, 0, 0, 0, 0, 0) },
              {
                programAddress: TOKEN,
                accounts: [
                  { address: SOURCE, role: AccountRole.WRITABLE },
                  { address: MINT, role: AccountRole.READONLY },
                  { address: DESTINATION, role: AccountRole.WRITABLE },
                  { address: WALLET, role: AccountRole.READONLY_SIGNER },
                ],
                data: Uint8Array.of(12, 16, 39, 0, 0, 0, 0, 0, 0, 6),
              },
            ],
            message,
          ),
      ),
    ),
  ),
);

/** Returns wire bytes with empty signatures, because these rules do not check signatures. */
export const wire = (message: Uint8Array, signers = 2) =>
  Uint8Array.from([signers, ...new Uint8Array(64 * signers), ...message]);

const withHeader = (change: Partial<Compiled['header']>): Compiled => ({
  ...payment,
  header: { ...payment.header, ...change },
});
const withInstructions = (
  change: (instructions: Compiled['instructions'][number][]) => Compiled['instructions'],
): Compiled => ({ ...payment, instructions: change([...payment.instructions]) });

/** Refused changes: a description, the rule that refuses it, and the changed payment. */
export const refused: readonly (readonly [string, string, Compiled])[] = [
  ['MemoryWrite', 'wallet_memory_write', insert(payment, 3, guardOn(WALLET, 'MemoryWrite'))],
  ['MemoryClose', 'wallet_memory_close', insert(payment, 3, guardOn(WALLET, 'MemoryClose'))],
  [
    'AssertMerkleTreeAccount',
    'wallet_merkle_tree',
    insert(payment, 3, guardOn(WALLET, 'AssertMerkleTreeAccount')),
  ],
  [
    'AssertBubblegumTreeConfigAccount',
    'wallet_bubblegum_tree',
    insert(payment, 3, guardOn(WALLET, 'AssertBubblegumTreeConfigAccount')),
  ],
  [
    'an instruction of the guards that there is not',
    'wallet_guard',
    insert(payment, 3, { ...guardOn(WALLET), data: Uint8Array.of(18, 0) }),
  ],
  [
    'a guard without data',
    'wallet_guard',
    insert(payment, 3, { ...guardOn(WALLET), data: new Uint8Array() }),
  ],
  [
    'a guard that says no log level',
    'wallet_guard_log',
    insert(payment, 3, { ...guardOn(WALLET), data: Uint8Array.of(5) }),
  ],
  [
    'a guard with one account more',
    'wallet_guard_accounts',
    insert(payment, 3, { ...guardOn(WALLET), accounts: [WALLET, OTHER] }),
  ],
  [
    'a guard with one account less',
    'wallet_guard_accounts',
    insert(payment, 3, { ...guardOn(WALLET), accounts: [] }),
  ],
  [
    'a transfer of its own',
    'wallet_instructions',
    withInstructions((all) => [...all, ...all.slice(2)]),
  ],
  ['no transfer', 'wallet_instructions', withInstructions((all) => all.slice(0, 2))],
  ['another order', 'wallet_instructions', withInstructions((all) => all.reverse())],
  [
    'a higher price',
    'wallet_instructions',
    withInstructions(([limit, price, transfer]) => [
      limit!,
      { ...price!, data: Uint8Array.of(3, 160, 134, 1, 0, 0, 0, 0, 0) },
      transfer!,
    ]),
  ],
  [
    'another amount',
    'wallet_instructions',
    withInstructions(([limit, price, transfer]) => [
      limit!,
      price!,
      { ...transfer!, data: Uint8Array.of(12, 17, 39, 0, 0, 0, 0, 0, 0, 6) },
    ]),
  ],
  [
    'another recipient',
    'wallet_instructions',
    {
      ...payment,
      staticAccounts: payment.staticAccounts.map((one) => (one === DESTINATION ? OTHER : one)),
    },
  ],
  [
    'another fee payer',
    'wallet_signers',
    {
      ...payment,
      staticAccounts: payment.staticAccounts.map((one) => (one === FEE_PAYER ? OTHER : one)),
    },
  ],
  ['one more signer', 'wallet_signers', withHeader({ numSignerAccounts: 3 })],
  ['a signer that is written', 'wallet_signers', withHeader({ numReadonlySignerAccounts: 0 })],
  ['a mint that is written', 'wallet_rights', withHeader({ numReadonlyNonSignerAccounts: 2 })],
  [
    'a recipient that is read only',
    'wallet_rights',
    withHeader({ numReadonlyNonSignerAccounts: 4 }),
  ],
  ['another blockhash', 'wallet_blockhash', { ...payment, lifetimeToken: OTHER }],
  [
    'a lookup table',
    'wallet_tables',
    {
      ...payment,
      version: 0,
      addressTableLookups: [
        { lookupTableAddress: OTHER, writableIndexes: [0], readonlyIndexes: [] },
      ],
    },
  ],
  [
    'an account that nothing needs',
    'wallet_accounts',
    {
      ...payment,
      staticAccounts: [...payment.staticAccounts, OTHER],
      header: {
        ...payment.header,
        numReadonlyNonSignerAccounts: payment.header.numReadonlyNonSignerAccounts + 1,
      },
    },
  ],
];
