import {
  address,
  decompileTransactionMessage,
  getAddressDecoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  type Address,
  type Instruction,
} from '@solana/kit';
import type { Sandbox } from 'exact-change-sandbox';
import { base64, compile, PACKET_BYTES, wire, type Message } from '../corpus/build.js';
import { instruction, type FilledInstruction } from '../corpus/instructions.js';

/** The parts of a transaction, from which a liar can build another transaction. */
export interface Parts {
  readonly feePayer: Address;
  readonly lifetime: Address;
  readonly instructions: readonly FilledInstruction[];
  /** Addresses in each lookup table of the transaction. */
  readonly tables: Readonly<Record<Address, Address[]>>;
}

const TABLE_HEADER_BYTES = 56;

function tableAt(sandbox: Sandbox, table: Address): Address[] {
  const data = sandbox.chain.account(table)?.data ?? new Uint8Array();
  const count = Math.floor((data.length - TABLE_HEADER_BYTES) / 32);
  return Array.from({ length: count }, (_, index) =>
    getAddressDecoder().decode(data, TABLE_HEADER_BYTES + 32 * index),
  );
}

/** Splits a serialized message into its parts. */
export function readMessage(
  sandbox: Sandbox,
  bytes: Uint8Array,
): Parts & { readonly header: Message['header'] } {
  const compiled = getCompiledTransactionMessageDecoder().decode(bytes);
  if (compiled.version !== 0) throw new Error(`A message of version ${compiled.version}.`);
  const lookups = compiled.addressTableLookups ?? [];
  const tables = Object.fromEntries(
    lookups.map(({ lookupTableAddress }) => [
      lookupTableAddress,
      tableAt(sandbox, lookupTableAddress),
    ]),
  );
  const message = decompileTransactionMessage(compiled, { addressesByLookupTableAddress: tables });
  const instructions: readonly Instruction[] = message.instructions;
  return {
    header: compiled.header,
    feePayer: message.feePayer.address,
    lifetime: address(compiled.lifetimeToken),
    instructions: instructions.map(({ programAddress, accounts = [], data = new Uint8Array() }) =>
      instruction(
        programAddress,
        accounts.map((account) => ({ address: account.address, role: account.role })),
        data,
      ),
    ),
    tables,
  };
}

/** Splits a transaction in base64 into its parts. */
export function opened(sandbox: Sandbox, transaction: string): Parts {
  const { messageBytes } = getTransactionDecoder().decode(Buffer.from(transaction, 'base64'));
  return readMessage(sandbox, Uint8Array.from(messageBytes));
}

/** Builds an unsigned transaction in base64; `change` edits the compiled message first. */
export function sealed(
  parts: Parts,
  change: (message: Message) => Message = (message) => message,
): string {
  const bytes = wire(change(compile(parts)));
  if (bytes.length > PACKET_BYTES)
    throw new Error(`This takes ${bytes.length} bytes, so it would be refused for that.`);
  return base64(bytes);
}
