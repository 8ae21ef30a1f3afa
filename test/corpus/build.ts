import {
  appendTransactionMessageInstructions,
  blockhash,
  compileTransactionMessage,
  compressTransactionMessageUsingAddressLookupTables,
  createTransactionMessage,
  getCompiledTransactionMessageEncoder,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
  type Address,
  type CompiledTransactionMessage,
  type CompiledTransactionMessageWithLifetime,
  type Instruction,
} from '@solana/kit';
import { concat } from './accounts.js';
import { WALLET, someKey } from './addresses.js';

/** The most that one packet of the network carries. */
export const PACKET_BYTES = 1232;
const SIGNATURE_BYTES = 64;

type Compiled = CompiledTransactionMessage & CompiledTransactionMessageWithLifetime;
/** A v0 message whose accounts are numbers already: what an attack rearranges. */
export type Message = Extract<Compiled, { readonly version: 0 }>;
type Tables = Readonly<Record<Address, Address[]>>;

export interface Draft {
  readonly instructions: readonly Instruction[];
  readonly tables?: Tables;
  readonly feePayer?: Address;
  /** A blockhash, or whatever stands in its place. */
  readonly lifetime?: Address;
}

/** The message as an honest compiler writes it. */
export function compile({
  instructions,
  tables = {},
  feePayer = WALLET,
  lifetime = someKey(99),
}: Draft): Message {
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (draft) => setTransactionMessageFeePayer(feePayer, draft),
    (draft) =>
      setTransactionMessageLifetimeUsingBlockhash(
        { blockhash: blockhash(lifetime), lastValidBlockHeight: 1n },
        draft,
      ),
    (draft) => appendTransactionMessageInstructions(instructions, draft),
    (draft) => compressTransactionMessageUsingAddressLookupTables(draft, tables),
  );
  return compileTransactionMessage(message);
}

export function messageBytes(message: Compiled): Uint8Array {
  return new Uint8Array(getCompiledTransactionMessageEncoder().encode(message));
}

/**
 * Unsigned wire bytes: an empty signature for each that the header asks for, unless others are
 * given.
 */
export function wire(
  message: Compiled,
  signatures: readonly Uint8Array[] = emptySignatures(message.header.numSignerAccounts),
): Uint8Array {
  return concat([signatures.length], ...signatures, messageBytes(message));
}

export function emptySignatures(count: number): Uint8Array[] {
  return Array.from({ length: count }, () => new Uint8Array(SIGNATURE_BYTES));
}

/**
 * An unsigned transaction as a service returns it. Throws if it would not fit a packet: that
 * would be another attack than meant.
 */
export function transaction(
  draft: Draft,
  change: (message: Message) => Message = (message) => message,
): Uint8Array {
  const bytes = wire(change(compile(draft)));
  if (bytes.length > PACKET_BYTES)
    throw new Error(`A transaction of the corpus takes ${bytes.length} bytes.`);
  return bytes;
}

export function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
