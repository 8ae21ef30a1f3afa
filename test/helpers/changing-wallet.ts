import {
  address,
  type Address,
  getBase16Encoder,
  getCompiledTransactionMessageDecoder,
  getCompiledTransactionMessageEncoder,
  getTransactionDecoder,
  type ReadonlyUint8Array,
} from '@solana/kit';
import type { MessageSigner, SigningIntent, TransactionSigner } from 'exact-change';
import { guardVectors } from '../fixtures/lighthouse/vectors.js';

export const LIGHTHOUSE = address('L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95');
/** A message of version 0 in plain data, as kit reads it. */
export type Compiled = ReturnType<
  ReturnType<typeof getCompiledTransactionMessageDecoder>['decode']
>;

export interface Added {
  readonly program: Address;
  readonly accounts: readonly Address[];
  readonly data: ReadonlyUint8Array;
}

/** Returns a Lighthouse guard on an account, like the guards that wallets add. */
export function guardOn(account: Address, name = 'AssertAccountInfo'): Added {
  const { data, accounts } = guardVectors[name] ?? { data: '', accounts: 0 };
  return {
    program: LIGHTHOUSE,
    accounts: Array.from({ length: accounts }, () => account),
    data: Uint8Array.from(getBase16Encoder().encode(data)),
  };
}

export function decompile(message: ReadonlyUint8Array): Compiled {
  return getCompiledTransactionMessageDecoder().decode(message);
}

export function compile(message: Compiled): Uint8Array {
  return Uint8Array.from(getCompiledTransactionMessageEncoder().encode(message));
}

/**
 * Inserts an instruction at an index. It appends the instruction's missing accounts as read-only
 * accounts, as wallets do.
 */
export function insert(message: Compiled, at: number, added: Added): Compiled {
  if (message.version !== 0) throw new Error('not version 0');
  const { staticAccounts, header } = message;
  const fresh = [...new Set([added.program, ...added.accounts])].filter(
    (account) => !staticAccounts.includes(account),
  );
  const accounts = [...staticAccounts, ...fresh];
  // Indexes into lookup tables follow those of the static accounts.
  const shifted = (index: number) => (index < staticAccounts.length ? index : index + fresh.length);
  const instructions = message.instructions.map((instruction) => ({
    ...instruction,
    programAddressIndex: shifted(instruction.programAddressIndex),
    ...(instruction.accountIndices === undefined
      ? {}
      : { accountIndices: instruction.accountIndices.map(shifted) }),
  }));
  instructions.splice(at, 0, {
    programAddressIndex: accounts.indexOf(added.program),
    accountIndices: added.accounts.map((account) => accounts.indexOf(account)),
    data: added.data,
  });
  return {
    ...message,
    staticAccounts: accounts,
    header: {
      ...header,
      numReadonlyNonSignerAccounts: header.numReadonlyNonSignerAccounts + fresh.length,
    },
    instructions,
  };
}

/** Adds guards to a message: `before` its third instruction, and `after` its last. */
export function guarded(
  message: Compiled,
  wallet: Address,
  { before = 0, after = 0 }: { readonly before?: number; readonly after?: number },
): Compiled {
  let changed = message;
  for (let left = before; left > 0; left -= 1) changed = insert(changed, 2, guardOn(wallet));
  for (let left = after; left > 0; left -= 1)
    changed = insert(changed, changed.instructions.length, guardOn(wallet));
  return changed;
}

/** Returns the wire bytes of a message that `signer` alone has signed; other slots are zero. */
export async function signedWire(
  signer: MessageSigner,
  message: Uint8Array,
  intent: SigningIntent,
): Promise<Uint8Array> {
  const { staticAccounts, header } = decompile(message);
  const slots = new Uint8Array(64 * header.numSignerAccounts);
  const slot = staticAccounts.findIndex((account) => account === signer.address);
  slots.set(await signer.signMessage(message, intent), 64 * slot);
  return Uint8Array.from([header.numSignerAccounts, ...slots, ...message]);
}

/** Returns a wallet that changes each message before it signs it. */
export function changingWallet(
  signer: MessageSigner,
  change: (message: Compiled, intent: SigningIntent) => Compiled,
): TransactionSigner {
  return {
    address: signer.address,
    async signTransaction(wire, intent) {
      const { messageBytes } = getTransactionDecoder().decode(wire);
      return signedWire(signer, compile(change(decompile(messageBytes), intent)), intent);
    },
  };
}
