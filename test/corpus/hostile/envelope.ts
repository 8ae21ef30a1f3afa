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
  breakingRule,
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

const cosigned = breakingRule('transaction_signers');
const presigned = breakingRule('transaction_presigned');
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
  cosigned(
    'second_signer',
    adding('after', () => [memo([signer(ATTACKER)])]),
  ),
  cosigned(
    'second_signer_in_swap',
    changingTerms((terms) => ({ venues: [...terms.venues, signer(ATTACKER)] })),
  ),
  cosigned('second_signer_named_nowhere', rearranging(withSilentSigner)),
  presigned(
    'presigned',
    signedBy((index) => index + 1),
  ),
  presigned(
    'presigned_in_its_last_byte',
    signedBy((index) => (index === 63 ? 1 : 0)),
  ),
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
const garbled = breakingRule('transaction_encoding');
const garbledOnce = breakingRule('transaction_encoding', once);
const garbledOfV2 = breakingRule('transaction_encoding', {
  forms: formsWhere((form) => form.version === 2),
});

const encodings: readonly Attack[] = [
  garbled('header_without_signers', withHeader({ numSignerAccounts: 0 })),
  garbled('header_with_read_only_payer', withHeader({ numReadonlySignerAccounts: 1 })),
  garbled('header_with_200_read_only', withHeader({ numReadonlyNonSignerAccounts: 200 })),
  garbled('header_with_200_read_only_signers', withHeader({ numReadonlySignerAccounts: 200 })),
  garbled('two_signatures_for_one_signer', (from) =>
    wire(compile(draftOf(from)), emptySignatures(2)),
  ),
  garbled('no_signature_for_one_signer', (from) => wire(compile(draftOf(from)), [])),
  garbled('message_without_signatures', (from) => messageBytes(compile(draftOf(from)))),
  garbled(
    'trailing',
    changingBytes((bytes) => concat(bytes, [0])),
  ),
  garbled(
    'trailing_second_transaction',
    changingBytes((bytes) => concat(bytes, bytes).slice(0, PACKET_BYTES)),
  ),
  garbled(
    'truncated1',
    changingBytes((bytes) => bytes.slice(0, -1)),
  ),
  garbled(
    'truncated_in_a_key',
    changingBytes((bytes) => bytes.slice(0, 200)),
  ),
  garbledOnce(
    'signature_alone',
    changingBytes((bytes) => bytes.slice(0, 65)),
  ),
  garbled('length_in_two_bytes', changingBytes(longWritten)),
  garbled('version_1', version(0x81)),
  garbled('version_127', version(0xff)),
  garbled('legacy', (from) => {
    const { addressTableLookups: _, ...message } = compile({
      instructions: draftOf(from).instructions,
    });
    return wire({ ...message, version: 'legacy' });
  }),
  garbledOfV2('larger_than_a_packet', (from) => {
    const plan = concat(from.terms.plan, new Uint8Array(PACKET_BYTES));
    return wire(
      compile({
        ...draftOf(from),
        instructions: [...from.compute, { ...from.swap, data: concat(from.swap.data, plan) }],
      }),
    );
  }),
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
  garbled(
    'ws',
    inBase64((text) => ` ${text}`),
  ),
  garbled(
    'ws_at_the_end',
    inBase64((text) => `${text}\n`),
  ),
  garbled(
    'ws_every_76_letters',
    inBase64((text) => text.replace(/(.{76})/g, '$1\r\n')),
  ),
  garbledOfV2('b64url', (from) => inUrlAlphabet(padded(from))),
  garbledOfV2('padding_left_out', (from) => base64(padded(from)).replace(/=/g, '')),
  garbledOfV2('spare_bits', (from) => withSpareBits(padded(from))),
  garbled(
    'more_padding',
    inBase64((text) => `${text}====`),
  ),
  garbled(
    'base64_twice',
    inBase64((text) => Buffer.from(text).toString('base64')),
  ),
  garbled(
    'hex',
    changingBytes((bytes) => Buffer.from(bytes).toString('hex')),
  ),
  garbled(
    'data_url',
    inBase64((text) => `data:application/octet-stream;base64,${text}`),
  ),
  garbled(
    'nul',
    inBase64((text) => `${text}\0`),
  ),
  garbled(
    'nul_bytes',
    changingBytes((bytes) => new Uint8Array(bytes.length)),
  ),
  garbledOnce('empty', () => ''),
  garbledOnce('empty_bytes', () => new Uint8Array()),
  garbled(
    'json',
    inBase64((text) => JSON.stringify({ swapTransaction: text })),
  ),
  garbledOnce('huge', () => 'A'.repeat(2_000_000)),
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
  garbledOnce('obj_text', () => '[object Object]'),
  garbled('obj_around_the_text', (from) => ({ swapTransaction: base64(honest(from)) })),
  garbled('obj_of_a_buffer', (from) => Buffer.from(honest(from)).toJSON()),
  garbled('obj_array_of_bytes', (from) => [...honest(from)]),
  garbled('obj_array_of_the_text', (from) => [base64(honest(from))]),
  garbledOnce('obj_that_reads_as_the_text', (from) => ({
    toString: () => base64(honest(from)),
    length: 1,
  })),
];

export const envelope = family('envelope', 'refused', [
  ...parties,
  ...lengths,
  ...encodings,
  ...texts,
  ...values,
]);
