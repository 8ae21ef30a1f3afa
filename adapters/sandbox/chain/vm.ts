import { address as toAddress, type Address } from '@solana/kit';
import { Account, Clock, FailedTransactionMetadata, LiteSvm } from 'litesvm/dist/internal.js';
import type {
  InnerInstruction,
  SimulatedTransactionInfo,
  TransactionMetadata,
} from 'litesvm/dist/internal.js';
import type { ChainAccount } from '../types.js';
import { addressOf, keyBytes } from './bytes.js';
import { isCharged, parseFailure } from './failure.js';
import type { Failure } from './failure.js';
import { LOOKUP_TABLE_PROGRAM } from './tables.js';
import type { WireInstruction, WireTransaction } from './wire.js';

export interface InnerInstructions {
  /** Index of the top-level instruction. */
  readonly index: number;
  readonly instructions: readonly (WireInstruction & { readonly stackHeight: number })[];
}

/** Result of running a transaction. */
export interface Outcome {
  readonly failure: Failure | undefined;
  /** True if the transaction is in a block with its fee paid; it may have failed there. */
  readonly included: boolean;
  readonly logs: readonly string[];
  readonly unitsConsumed: bigint;
  readonly fee: bigint;
  readonly returnData: { readonly program: Address; readonly data: Uint8Array } | undefined;
  /** Instructions that programs called, by top-level instruction. */
  readonly inner: readonly InnerInstructions[];
}

export interface Simulated extends Outcome {
  readonly after: ReadonlyMap<Address, ChainAccount>;
}

const SYSVARS = toAddress('Sysvar1111111111111111111111111111111111111');
const SLOT_HASHES = toAddress('SysvarS1otHashes111111111111111111111111111');

/**
 * The Solana runtime in this process. Pass only transactions of `parseTransaction`, because the
 * runtime aborts the process on malformed ones.
 */
export class Vm {
  private readonly svm = new LiteSvm();
  private takeSlotHashes: (() => void) | undefined;

  constructor() {
    this.svm.withNativeMints();
    // The runtime accepts only its own blockhash, and by default remembers 32 transactions.
    this.svm.setBlockhashCheck(false);
    this.svm.setTransactionHistory(1_000_000n);
  }

  account(address: Address): ChainAccount | undefined {
    if (address === SLOT_HASHES) this.freshenSlotHashes();
    const account = this.svm.getAccount(keyBytes(address));
    return account === null || account.lamports() === 0n ? undefined : readAccount(account);
  }

  setAccount(address: Address, { lamports, data, owner, executable }: ChainAccount): void {
    this.svm.setAccount(
      keyBytes(address),
      new Account(lamports, data, keyBytes(owner), executable, 0n),
    );
  }

  /** Returns the accounts of a program that have matching data; only these are read completely. */
  ownedBy(
    program: Address,
    matches: (data: Uint8Array) => boolean,
  ): { address: Address; account: ChainAccount }[] {
    if (program === SYSVARS) this.freshenSlotHashes();
    return this.svm
      .getProgramAccounts(keyBytes(program))
      .map((entry) => ({ entry, account: entry.account() }))
      .filter(({ account }) => account.lamports() > 0n && matches(account.data()))
      .map(({ entry, account }) => ({
        address: addressOf(entry.address),
        account: readAccount(account),
      }));
  }

  addProgram(address: Address, bytes: Uint8Array): void {
    this.svm.addProgram(keyBytes(address), bytes);
  }

  rent(bytes: bigint): bigint {
    return this.svm.minimumBalanceForRentExemption(bytes);
  }

  setSlot(
    slot: bigint,
    unixSeconds: bigint,
    epoch: bigint,
    hashes: () => { slot: bigint; hash: string }[],
  ): void {
    this.svm.setClock(new Clock(slot, unixSeconds, epoch, epoch + 1n, unixSeconds));
    this.takeSlotHashes = () => this.svm.setSlotHashes(hashes());
  }

  /** Writes the slot hashes only before a read: they take a millisecond and are rarely read. */
  private freshenSlotHashes(): void {
    this.takeSlotHashes?.();
    this.takeSlotHashes = undefined;
  }

  private enter({ keys, lookups }: WireTransaction, verifySignatures: boolean): void {
    // The lookup table program reads the slot hashes, and so does the load of a deactivated table.
    if (lookups.length > 0 || keys.includes(LOOKUP_TABLE_PROGRAM) || keys.includes(SLOT_HASHES))
      this.freshenSlotHashes();
    this.svm.setSigverify(verifySignatures);
  }

  execute(transaction: WireTransaction): Outcome {
    this.enter(transaction, true);
    return readOutcome(this.svm.sendVersionedTransaction(transaction.bytes));
  }

  simulate(transaction: WireTransaction, verifySignatures: boolean): Simulated {
    this.enter(transaction, verifySignatures);
    const result = this.svm.simulateVersionedTransaction(transaction.bytes);
    const after = new Map<Address, ChainAccount>();
    if (!(result instanceof FailedTransactionMetadata)) {
      for (const entry of result.postAccounts())
        after.set(addressOf(entry.address), readAccount(entry.account()));
    }
    return { ...readOutcome(result), after };
  }
}

function readAccount(account: Account): ChainAccount {
  return {
    lamports: account.lamports(),
    data: account.data(),
    owner: addressOf(account.owner()),
    executable: account.executable(),
  };
}

function readOutcome(
  result: TransactionMetadata | FailedTransactionMetadata | SimulatedTransactionInfo,
): Outcome {
  const text = result.toString();
  const failure =
    result instanceof FailedTransactionMetadata
      ? parseFailure(/err: (.+?), meta: TransactionMetadata/s.exec(text)?.[1] ?? '')
      : undefined;
  const meta = 'meta' in result ? result.meta() : result;
  const returned = meta.returnData();
  const data = returned.data();
  return {
    failure,
    included: failure === undefined || isCharged(failure),
    logs: meta.logs(),
    unitsConsumed: meta.computeUnitsConsumed(),
    // Only the end of the debug text contains the fee.
    fee: BigInt(/^fee: (\d+)/.exec(text.slice(text.lastIndexOf('fee: ')))?.[1] ?? 0),
    returnData: data.length === 0 ? undefined : { program: addressOf(returned.programId()), data },
    inner: meta
      .innerInstructions()
      .map((instructions, index) => ({ index, instructions: instructions.map(readInner) }))
      .filter(({ instructions }) => instructions.length > 0),
  };
}

function readInner(entry: InnerInstruction): WireInstruction & { readonly stackHeight: number } {
  const instruction = entry.instruction();
  return {
    programIndex: instruction.programIdIndex(),
    accounts: instruction.accounts(),
    data: instruction.data(),
    stackHeight: entry.stackHeight(),
  };
}
