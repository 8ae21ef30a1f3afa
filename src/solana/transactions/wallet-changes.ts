import { TransactionError } from '../../errors.js';
import { isSameList } from '../../internal/bytes.js';
import { brokenBy, type Rule, type RuleText } from '../../internal/rule.js';
import { GUARD_ACCOUNTS, LIGHTHOUSE_PROGRAM, QUIET_LEVELS, REFUSED_GUARDS } from './lighthouse.js';
import {
  decodeMessage,
  decodeTransaction,
  isWritable,
  type DecodedMessage,
  type DecodedTransaction,
} from './transaction.js';
import type { Address } from '../types.js';

export interface SignedMessage {
  /** The signed message: the message asked for, or with guards that the wallet added. */
  readonly message: Uint8Array;
  /** The signer's own signature, 64 bytes. */
  readonly signature: Uint8Array;
}

interface Change {
  readonly before: NamedMessage;
  readonly after: NamedMessage;
}

/** An instruction that refers to accounts by name. */
interface NamedInstruction {
  readonly program: string;
  readonly accounts: readonly string[];
  readonly data: Uint8Array;
}

/** A message that names its accounts: by address, or by index in a lookup table. */
interface NamedMessage {
  readonly blockhash: string;
  /** The addresses of the signers, in order, each with whether it is writable. */
  readonly signers: string;
  /** The accounts from lookup tables, sorted, each with whether it is writable. */
  readonly tables: string;
  readonly isDistinct: boolean;
  readonly writable: ReadonlyMap<string, boolean>;
  readonly guards: readonly NamedInstruction[];
  readonly rest: readonly NamedInstruction[];
}

const UNREADABLE: RuleText = {
  id: 'wallet_message',
  refuses: 'it is no v0 transaction that fits a packet',
  why: 'What cannot be read may do anything.',
};

/** Rules for a changed transaction, in the order in which they are checked. */
const rules: readonly Rule<Change>[] = [
  onBoth(
    'wallet_blockhash',
    'it has another blockhash',
    'Until when it can land would not be known, nor when it is safe to pay anew.',
    (before, after) => before.blockhash === after.blockhash,
  ),
  onBoth(
    'wallet_signers',
    'it is signed by other wallets, or in another order',
    'Each signature costs lamports, and the first signer pays the fee.',
    (before, after) => before.signers === after.signers,
  ),
  onBoth(
    'wallet_tables',
    'it has other lookup tables',
    'What is in a table that was not read may be any account.',
    (before, after) => before.tables === after.tables,
  ),
  ...REFUSED_GUARDS.map(({ first, ...text }) => onGuards(text, ({ data }) => data[0] !== first)),
  onGuards(
    {
      id: 'wallet_guard',
      refuses: 'it adds an instruction of the Lighthouse program that is not known',
      why: 'What is not known to read only may move what the wallet has.',
    },
    ({ data }) => GUARD_ACCOUNTS.has(data[0]),
  ),
  onGuards(
    {
      id: 'wallet_guard_accounts',
      refuses: 'it adds a guard with other accounts than it needs',
      why: 'A guard with more accounts may hand them to another program.',
    },
    ({ data, accounts }) => GUARD_ACCOUNTS.get(data[0]) === accounts.length,
  ),
  onGuards(
    {
      id: 'wallet_guard_log',
      refuses: 'it adds a guard that logs through another program',
      why: 'That program is called with what the guard has.',
    },
    ({ data }) => QUIET_LEVELS.has(data[1]),
  ),
  onBoth(
    'wallet_instructions',
    'it adds, drops, moves or changes an instruction that is no guard',
    'Any other instruction may move what the wallet has, or make the fee higher.',
    (before, after) =>
      before.rest.length === after.rest.length &&
      before.rest.every((instruction, index) => isSame(instruction, after.rest[index])),
  ),
  onBoth(
    'wallet_rights',
    'it lets an account be written that was not to',
    'Programs may move what is in an account that they may write.',
    (before, after) =>
      [...after.writable].every(([name, may]) => may === (before.writable.get(name) ?? false)),
  ),
  onBoth(
    'wallet_accounts',
    'it names an account twice, or one that no guard needs',
    'Nothing is signed that has no known purpose.',
    (before, after) => {
      const needed = new Set(
        after.guards.flatMap(({ program, accounts }) => [program, ...accounts]),
      );
      return (
        after.isDistinct &&
        [...after.writable.keys()].every((name) => before.writable.has(name) || needed.has(name))
      );
    },
  ),
];

/** Every refusal of a transaction that a wallet changed. */
export const changeTexts: readonly RuleText[] = [UNREADABLE, ...rules];

/**
 * Judges the transaction that a wallet returned for a message. The wallet may add guards that only
 * read, at any position, and read-only accounts for them.
 *
 * The rules trust the guards' program. The rights to write and to sign hold for the whole message,
 * so a guard on the wallet has the wallet as a signer.
 *
 * @param wire - The transaction that the wallet returned.
 */
export function judgeChange(
  message: Uint8Array,
  wire: Uint8Array,
): { readonly signed: DecodedTransaction; readonly guards: number } | RuleText {
  const before = nameAccounts(decodeMessage(message));
  if (before === undefined) throw new TypeError('Not a v0 message.');
  const signed = decodeTransaction(wire);
  const after = nameAccounts(signed);
  if (signed === undefined || after === undefined) return UNREADABLE;
  return brokenBy(rules, { before, after }) ?? { signed, guards: after.guards.length };
}

/** Names the accounts of a message; undefined if there is none, or an index is out of range. */
function nameAccounts(message: DecodedMessage | undefined): NamedMessage | undefined {
  if (message === undefined) return undefined;
  const { header, staticAccounts, lookups, blockhash } = message;
  const own = staticAccounts.map((name, index) => ({
    name,
    writable: isWritable(message, index),
  }));
  const places = (writable: boolean) =>
    lookups.flatMap((lookup) =>
      (writable ? lookup.writable : lookup.readonly).map((index) => ({
        name: `${lookup.table}[${index}]`,
        writable,
      })),
    );
  const loaded = [...places(true), ...places(false)];
  const accounts = [...own, ...loaded];
  const instructions: NamedInstruction[] = [];
  for (const { programIndex, accountIndexes, data } of message.instructions) {
    const program = accounts[programIndex];
    const named = accountIndexes.flatMap((index) => accounts[index]?.name ?? []);
    if (program === undefined || named.length !== accountIndexes.length) return undefined;
    instructions.push({ program: program.name, accounts: named, data });
  }
  const list = (named: readonly { readonly name: string; readonly writable: boolean }[]) =>
    named.map(({ name, writable }) => `${name} ${String(writable)}`);
  const isGuard = ({ program }: NamedInstruction) => program === LIGHTHOUSE_PROGRAM;
  const writable = new Map(accounts.map((account) => [account.name, account.writable]));
  return {
    blockhash,
    signers: list(own.slice(0, header.numRequiredSignatures)).join(),
    tables: list(loaded).sort().join(),
    isDistinct: writable.size === accounts.length,
    writable,
    guards: instructions.filter(isGuard),
    rest: instructions.filter((instruction) => !isGuard(instruction)),
  };
}

function onBoth(
  id: string,
  refuses: string,
  why: string,
  passes: (before: NamedMessage, after: NamedMessage) => boolean,
): Rule<Change> {
  return { id, refuses, why, passes: ({ before, after }) => passes(before, after) };
}

function onGuards(text: RuleText, passes: (guard: NamedInstruction) => boolean): Rule<Change> {
  return { ...text, passes: ({ after }) => after.guards.every(passes) };
}

function isSame(a: NamedInstruction, b: NamedInstruction | undefined): boolean {
  return (
    b !== undefined &&
    a.program === b.program &&
    isSameList(a.accounts, b.accounts) &&
    isSameList(a.data, b.data)
  );
}

/**
 * Returns the message that a wallet signed, and its signature. Signatures of other signers are
 * ignored and not sent. Throws `signing_failed`.
 *
 * @param refusesForm - Says why a message with guards cannot be used, if it cannot.
 */
export function readSigned(
  address: Address,
  message: Uint8Array,
  wire: Uint8Array,
  kind: 'payment' | 'swap',
  refusesForm?: (message: Uint8Array) => string | undefined,
): SignedMessage {
  const judged = judgeChange(message, wire);
  if ('id' in judged)
    throw new TransactionError(
      'signing_failed',
      `The wallet ${address} changed the ${kind} before it signed: ${judged.refuses} (rule ${judged.id}). Nothing was sent. Use another wallet, or turn off what changes transactions in this one.`,
      { details: { address, rule: judged.id } },
    );
  const { signed, guards } = judged;
  const refused = guards === 0 ? undefined : refusesForm?.(signed.message);
  if (refused !== undefined)
    throw new TransactionError(
      'signing_failed',
      `The wallet ${address} put ${guards} instructions of its own into the ${kind}, and facilitators of this seller's kind refuse it: ${refused}. Nothing was presented. Pay with a wallet that adds fewer or puts them last, or with one that adds none: a key, a cloud key or a hardware wallet.`,
      { details: { address, rule: 'wallet_form' } },
    );
  const signature = signed.signatures[signed.staticAccounts.indexOf(address)] ?? new Uint8Array();
  return { message: signed.message, signature };
}
