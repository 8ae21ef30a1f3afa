import { ATTACKER, PROGRAMS, WALLET, own, MINTS, someKey } from '../addresses.js';
import { concat } from '../accounts.js';
import { createOwn, draftOf, type Base } from '../bases.js';
import {
  PACKET_BYTES,
  base64,
  compile,
  emptySignatures,
  messageBytes,
  transaction,
  wire,
  type Message,
} from '../build.js';
import {
  adding,
  family,
  formsWhere,
  rearranging,
  replacing,
  changingTerms,
  changingBytes,
  type Attack,
} from '../case.js';
import {
  instruction,
  readonly,
  signer,
  syncNative,
  type FilledInstruction,
} from '../instructions.js';

const withHeader = (change: Partial<Message['header']>) =>
  rearranging((message) => ({ ...message, header: { ...message.header, ...change } }));

/** Makes a transaction that only the attacker pays and signs; it names the wallet as no signer. */
function paidByAttacker(from: Base): Uint8Array {
  const strip = (one: FilledInstruction): FilledInstruction => ({
    ...one,
    accounts: one.accounts.map((meta) => (meta.address === WALLET ? readonly(WALLET) : meta)),
  });
  return transaction({
    instructions: [...from.compute, strip(from.swap)],
    tables: from.tables,
    feePayer: ATTACKER,
  });
}

/** Inserts an account that must sign right behind the wallet. */
function withSilentSigner(message: Message): Message {
  const [payer, ...others] = message.staticAccounts;
  if (payer === undefined) throw new Error('A message has a fee payer.');
  const moved = (index: number) => (index === 0 ? 0 : index + 1);
  return {
    ...message,
    header: { ...message.header, numSignerAccounts: 2, numReadonlySignerAccounts: 1 },
    staticAccounts: [payer, ATTACKER, ...others],
    instructions: message.instructions.map((one) => ({
      ...one,
      programAddressIndex: moved(one.programAddressIndex),
      accountIndices: (one.accountIndices ?? []).map(moved),
    })),
  };
}

const memo = (accounts: FilledInstruction['accounts']) =>
  instruction(PROGRAMS.memo, accounts, [104, 105]);
const signedBy = (signature: (index: number) => number) => (from: Base) =>
  wire(compile(draftOf(from)), [Uint8Array.from({ length: 64 }, (_, index) => signature(index))]);

const parties: readonly Attack[] = [
  {
    attack: 'fee_payer_evil',
    rule: 'transaction_fee_payer',
    directions: ['usdc-usdt', 'usdc-pyusd'],
    make: paidByAttacker,
  },
  {
    attack: 'fee_payer_evil_wallet_signs',
    rule: 'transaction_fee_payer',
    make: (from) => transaction({ ...draftOf(from), feePayer: ATTACKER }),
  },
  {
    attack: 'second_signer',
    rule: 'transaction_signers',
    make: adding('after', () => [memo([signer(ATTACKER)])]),
  },
  {
    attack: 'second_signer_in_swap',
    rule: 'transaction_signers',
    make: changingTerms((terms) => ({ venues: [...terms.venues, signer(ATTACKER)] })),
  },
  {
    attack: 'second_signer_named_nowhere',
    rule: 'transaction_signers',
    make: rearranging(withSilentSigner),
  },
  { attack: 'presigned', rule: 'transaction_presigned', make: signedBy((index) => index + 1) },
  {
    attack: 'presigned_in_its_last_byte',
    rule: 'transaction_presigned',
    make: signedBy((index) => (index === 63 ? 1 : 0)),
  },
];

/** Fills the transaction up with account creations, which are allowed in any number. */
const fifteen = replacing(({ compute, setup, cleanup, expected }) => ({
  setup: [
    ...setup,
    ...Array.from({ length: 14 - compute.length - setup.length - cleanup.length }, () =>
      createOwn(expected.outputMint),
    ),
  ],
}));

const lengths: readonly Attack[] = [
  { attack: 'fifteen_instructions', rule: 'transaction_length', make: fifteen },
  {
    attack: 'forty_instructions',
    rule: 'transaction_length',
    directions: ['sol-usdc'],
    make: adding('before', () => Array.from({ length: 36 }, () => syncNative(own(MINTS.wsol)))),
  },
  {
    attack: 'no_instructions',
    rule: 'transaction_length',
    make: rearranging((message) => ({ ...message, instructions: [] })),
  },
];

/** Encodes the number of static accounts in two bytes, although a single byte is enough. */
function longWritten(bytes: Uint8Array): Uint8Array {
  // The offset skips the count, a signature, the version, and three bytes of header.
  const at = 1 + 64 + 1 + 3;
  return concat(bytes.slice(0, at), [(bytes[at] ?? 0) | 0x80, 0], bytes.slice(at + 1));
}

const version = (byte: number) =>
  changingBytes((bytes) => {
    const changed = bytes.slice();
    changed[65] = byte;
    return changed;
  });

/** For attacks without a part of the honest transaction, which would be the same in all forms. */
const once = { forms: ['route_v2'], directions: ['usdc-usdt'] } as const;

const encodings: readonly Attack[] = [
  {
    attack: 'header_without_signers',
    rule: 'transaction_encoding',
    make: withHeader({ numSignerAccounts: 0 }),
  },
  {
    attack: 'header_with_read_only_payer',
    rule: 'transaction_encoding',
    make: withHeader({ numReadonlySignerAccounts: 1 }),
  },
  {
    attack: 'header_with_200_read_only',
    rule: 'transaction_encoding',
    make: withHeader({ numReadonlyNonSignerAccounts: 200 }),
  },
  {
    attack: 'header_with_200_read_only_signers',
    rule: 'transaction_encoding',
    make: withHeader({ numReadonlySignerAccounts: 200 }),
  },
  {
    attack: 'two_signatures_for_one_signer',
    rule: 'transaction_encoding',
    make: (from) => wire(compile(draftOf(from)), emptySignatures(2)),
  },
  {
    attack: 'no_signature_for_one_signer',
    rule: 'transaction_encoding',
    make: (from) => wire(compile(draftOf(from)), []),
  },
  {
    attack: 'message_without_signatures',
    rule: 'transaction_encoding',
    make: (from) => messageBytes(compile(draftOf(from))),
  },
  {
    attack: 'trailing',
    rule: 'transaction_encoding',
    make: changingBytes((bytes) => concat(bytes, [0])),
  },
  {
    attack: 'trailing_second_transaction',
    rule: 'transaction_encoding',
    make: changingBytes((bytes) => concat(bytes, bytes).slice(0, PACKET_BYTES)),
  },
  {
    attack: 'truncated1',
    rule: 'transaction_encoding',
    make: changingBytes((bytes) => bytes.slice(0, -1)),
  },
  {
    attack: 'truncated_in_a_key',
    rule: 'transaction_encoding',
    make: changingBytes((bytes) => bytes.slice(0, 200)),
  },
  {
    attack: 'signature_alone',
    rule: 'transaction_encoding',
    ...once,
    make: changingBytes((bytes) => bytes.slice(0, 65)),
  },
  { attack: 'length_in_two_bytes', rule: 'transaction_encoding', make: changingBytes(longWritten) },
  { attack: 'version_1', rule: 'transaction_encoding', make: version(0x81) },
  { attack: 'version_127', rule: 'transaction_encoding', make: version(0xff) },
  {
    attack: 'legacy',
    rule: 'transaction_encoding',
    make: (from) => {
      const { addressTableLookups: _, ...message } = compile({
        instructions: draftOf(from).instructions,
      });
      return wire({ ...message, version: 'legacy' });
    },
  },
  {
    attack: 'larger_than_a_packet',
    rule: 'transaction_encoding',
    forms: formsWhere((form) => form.version === 2),
    make: (from) => {
      const plan = concat(from.terms.plan, new Uint8Array(PACKET_BYTES));
      return wire(
        compile({
          ...draftOf(from),
          instructions: [...from.compute, { ...from.swap, data: concat(from.swap.data, plan) }],
        }),
      );
    },
  },
];

function inUrlAlphabet(bytes: Uint8Array): string {
  const text = base64(bytes);
  const changed = text.replace(/\+/g, '-').replace(/\//g, '_');
  if (changed === text) throw new Error('This base64 is the same in both alphabets.');
  return changed;
}

/**
 * Sets unused bits in the last base64 letter before the padding; the text still decodes to the same
 * bytes.
 */
function withSpareBits(bytes: Uint8Array): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const text = base64(bytes);
  const end = text.replace(/=+$/, '').length - 1;
  return `${text.slice(0, end)}${alphabet[alphabet.indexOf(text[end] ?? '') + 1] ?? ''}${text.slice(end + 1)}`;
}

const inBase64 = (change: (text: string) => string) =>
  changingBytes((bytes) => change(base64(bytes)));

/**
 * Makes a transaction with a length that needs padding, and with a blockhash that base64 and
 * base64url encode differently.
 */
function padded(from: Base): Uint8Array {
  for (const extra of [0, 1, 2]) {
    const plan = concat(from.terms.plan, new Uint8Array(extra));
    const swap = {
      ...from.swap,
      data: concat(from.swap.data.slice(0, from.swap.data.length - from.terms.plan.length), plan),
    };
    const bytes = wire(compile({ ...draftOf({ ...from, swap }), lifetime: someKey(251, 255) }));
    if (bytes.length % 3 === 1) return bytes;
  }
  throw new Error('One of three lengths needs two letters of padding.');
}

const texts: readonly Attack[] = [
  { attack: 'ws', rule: 'transaction_encoding', make: inBase64((text) => ` ${text}`) },
  { attack: 'ws_at_the_end', rule: 'transaction_encoding', make: inBase64((text) => `${text}\n`) },
  {
    attack: 'ws_every_76_letters',
    rule: 'transaction_encoding',
    make: inBase64((text) => text.replace(/(.{76})/g, '$1\r\n')),
  },
  {
    attack: 'b64url',
    rule: 'transaction_encoding',
    forms: formsWhere((form) => form.version === 2),
    make: (from) => inUrlAlphabet(padded(from)),
  },
  {
    attack: 'padding_left_out',
    rule: 'transaction_encoding',
    forms: formsWhere((form) => form.version === 2),
    make: (from) => base64(padded(from)).replace(/=/g, ''),
  },
  {
    attack: 'spare_bits',
    rule: 'transaction_encoding',
    forms: formsWhere((form) => form.version === 2),
    make: (from) => withSpareBits(padded(from)),
  },
  { attack: 'more_padding', rule: 'transaction_encoding', make: inBase64((text) => `${text}====`) },
  {
    attack: 'base64_twice',
    rule: 'transaction_encoding',
    make: inBase64((text) => Buffer.from(text).toString('base64')),
  },
  {
    attack: 'hex',
    rule: 'transaction_encoding',
    make: changingBytes((bytes) => Buffer.from(bytes).toString('hex')),
  },
  {
    attack: 'data_url',
    rule: 'transaction_encoding',
    make: inBase64((text) => `data:application/octet-stream;base64,${text}`),
  },
  { attack: 'nul', rule: 'transaction_encoding', make: inBase64((text) => `${text}\0`) },
  {
    attack: 'nul_bytes',
    rule: 'transaction_encoding',
    make: changingBytes((bytes) => new Uint8Array(bytes.length)),
  },
  { attack: 'empty', rule: 'transaction_encoding', ...once, make: () => '' },
  { attack: 'empty_bytes', rule: 'transaction_encoding', ...once, make: () => new Uint8Array() },
  {
    attack: 'json',
    rule: 'transaction_encoding',
    make: inBase64((text) => JSON.stringify({ swapTransaction: text })),
  },
  { attack: 'huge', rule: 'transaction_encoding', ...once, make: () => 'A'.repeat(2_000_000) },
];

const honest = (from: Base) => wire(compile(draftOf(from)));

/** Values in place of a transaction, because a service's JSON answer may contain any value. */
const values: readonly Attack[] = [
  ...([[null], [undefined], [7], [true], [{}], [[]]] as const).map(([value]): Attack => ({
    ...{
      attack: `obj_${Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value}`,
      rule: 'transaction_encoding',
      ...once,
    },
    make: () => value,
  })),
  { attack: 'obj_text', rule: 'transaction_encoding', ...once, make: () => '[object Object]' },
  {
    attack: 'obj_around_the_text',
    rule: 'transaction_encoding',
    make: (from) => ({ swapTransaction: base64(honest(from)) }),
  },
  {
    attack: 'obj_of_a_buffer',
    rule: 'transaction_encoding',
    make: (from) => Buffer.from(honest(from)).toJSON(),
  },
  { attack: 'obj_array_of_bytes', rule: 'transaction_encoding', make: (from) => [...honest(from)] },
  {
    attack: 'obj_array_of_the_text',
    rule: 'transaction_encoding',
    make: (from) => [base64(honest(from))],
  },
  {
    attack: 'obj_that_reads_as_the_text',
    rule: 'transaction_encoding',
    ...once,
    make: (from) => ({ toString: () => base64(honest(from)), length: 1 }),
  },
];

export const envelope = family('envelope', 'refused', [
  ...parties,
  ...lengths,
  ...encodings,
  ...texts,
  ...values,
]);
