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

/** A guard on an account: what a wallet adds. */
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
 * Puts an instruction at a place, and read-only accounts that it needs after those that there are,
 * as wallets do.
 */
export function insert(message: Compiled, at: number, added: Added): Compiled {
  if (message.version !== 0) throw new Error('not version 0');
  const { staticAccounts, header } = message;
  const fresh = [...new Set([added.program, ...added.accounts])].filter(
    (one) => !staticAccounts.includes(one),
  );
  const accounts = [...staticAccounts, ...fresh];
  // Places in lookup tables count on after the message's own accounts.
  const shifted = (index: number) => (index < staticAccounts.length ? index : index + fresh.length);
  const instructions = message.instructions.map((one) => ({
    ...one,
    programAddressIndex: shifted(one.programAddressIndex),
    ...(one.accountIndices === undefined
      ? {}
      : { accountIndices: one.accountIndices.map(shifted) }),
  }));
  instructions.splice(at, 0, {
    programAddressIndex: accounts.indexOf(added.program),
    accountIndices: added.accounts.map((one) => accounts.indexOf(one)),
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

/** Puts guards on a wallet into a message: some before the third instruction, some at its end. */
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

/** Wire bytes of a message that one of its signers has signed; the other slots are empty. */
export async function signedWire(
  signer: MessageSigner,
  message: Uint8Array,
  intent: SigningIntent,
): Promise<Uint8Array> {
  const { staticAccounts, header } = decompile(message);
  const slots = new Uint8Array(64 * header.numSignerAccounts);
  const own = staticAccounts.findIndex((one) => one === signer.address);
  slots.set(await signer.signMessage(message, intent), 64 * own);
  return Uint8Array.from([header.numSignerAccounts, ...slots, ...message]);
}

/** A wallet that changes what it is given before it signs. */
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
