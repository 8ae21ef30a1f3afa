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

/** Most bytes of a network packet, and so of a transaction. */
export const PACKET_BYTES = 1232;
const SIGNATURE_BYTES = 64;

type Compiled = CompiledTransactionMessage & CompiledTransactionMessageWithLifetime;
/** A compiled v0 message, with accounts as indexes, which attacks rearrange. */
export type Message = Extract<Compiled, { readonly version: 0 }>;
type Tables = Readonly<Record<Address, Address[]>>;

export interface Draft {
  readonly instructions: readonly Instruction[];
  readonly tables?: Tables;
  readonly feePayer?: Address;
  /** Blockhash, or another value in its place. */
  readonly lifetime?: Address;
}

/** Compiles the message as an honest compiler does. */
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

/** Returns wire bytes with an empty signature for each signer, unless `signatures` are given. */
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
 * Returns an unsigned transaction as a service sends it. Throws if it does not fit in a packet,
 * because the size must not be the reason of a refusal.
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
