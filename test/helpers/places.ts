import { getCompiledTransactionMessageDecoder } from '@solana/kit';

const PROGRAMS: Readonly<Record<string, string>> = {
  '11111111111111111111111111111111': 'system',
  ComputeBudget111111111111111111111111111111: 'budget',
  ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL: 'associated',
  TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA: 'token',
  TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb: 'token',
  JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4: 'swap',
};

/** Fields of each instruction that the client composes: a name, and a number of bytes. */
const FIELDS: Readonly<Record<string, readonly (readonly [string, number])[]>> = {
  'budget 2': [
    ['unit limit: operation', 1],
    ['unit limit: units', 4],
  ],
  'budget 3': [
    ['unit price: operation', 1],
    ['unit price: micro-lamports', 8],
  ],
  'associated 1': [['create: whether it may be there', 1]],
  'system 2': [
    ['transfer: operation', 4],
    ['transfer: lamports', 8],
  ],
  'token 5': [['revoke: operation', 1]],
  'token 6': [['drop: operation', 3]],
  'token 9': [['close: operation', 1]],
  'token 12': [
    ['hold: operation', 1],
    ['hold: base units', 8],
    ['hold: decimals', 1],
  ],
  'token 17': [['sync: operation', 1]],
};

/** Returns the name of the field of each byte in a message of the client, by the v0 layout. */
export function placesOf(message: Uint8Array): string[] {
  const { staticAccounts, instructions, addressTableLookups = [] } = v0(message);
  const counted = (length: number) => (length < 0x80 ? 1 : 2);
  const places: string[] = [];
  const say = (name: string, bytes: number) => places.push(...new Array<string>(bytes).fill(name));
  say('version', 1);
  say('header: signers', 1);
  say('header: read-only signers', 1);
  say('header: read-only others', 1);
  say('length of accounts', counted(staticAccounts.length));
  for (const key of staticAccounts) say(`account ${PROGRAMS[key] ?? ''}`, 32);
  say('blockhash', 32);
  say('length of instructions', counted(instructions.length));
  for (const [
    index,
    { programAddressIndex, accountIndices = [], data = new Uint8Array() },
  ] of instructions.entries()) {
    const program = PROGRAMS[staticAccounts[programAddressIndex]!]!;
    say(`${program}: program`, 1);
    say(`${program}: length of accounts`, counted(accountIndices.length));
    say(`${program}: account`, accountIndices.length);
    say(`${program}: length of data`, counted(data.length));
    const kind = program === 'system' ? (index === instructions.length - 1 ? 'floor' : 'wrap') : '';
    for (const [name, bytes] of FIELDS[`${program} ${data[0]!}`] ?? [['swap: data', data.length]])
      say(name.replace('transfer', kind), bytes);
  }
  say('length of lookups', counted(addressTableLookups.length));
  for (const { writableIndexes, readonlyIndexes } of addressTableLookups) {
    say('lookup: table', 32);
    say('lookup: length of writable', 1);
    say('lookup: writable', writableIndexes.length);
    say('lookup: length of read-only', 1);
    say('lookup: read-only', readonlyIndexes.length);
  }
  if (places.length !== message.length)
    throw new Error(`${places.length} bytes have a name, of ${message.length}`);
  return places;
}

function v0(message: Uint8Array) {
  const decoded = getCompiledTransactionMessageDecoder().decode(message);
  if (decoded.version !== 0) throw new Error('not a v0 message');
  return decoded;
}
