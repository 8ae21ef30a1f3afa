import {
  appendTransactionMessageInstructions,
  blockhash,
  compileTransaction,
  compressTransactionMessageUsingAddressLookupTables,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
  type Address,
  type Base64EncodedWireTransaction,
  type createSolanaRpc,
  type Instruction,
} from '@solana/kit';
import type { SwapParts } from './instructions.js';
import { COMPUTE_BUDGET_PROGRAM, type Pools } from './pools.js';

type SolanaRpc = ReturnType<typeof createSolanaRpc>;

export const MAX_COMPUTE_UNITS = 1_400_000;
/** Micro-lamports per compute unit if the caller sets no priority fee. */
export const DEFAULT_UNIT_PRICE = 1_000n;

export interface ComputeBudget {
  readonly unitLimit: number;
  /** Micro-lamports per compute unit. */
  readonly unitPrice: bigint;
}

/** Returns the compute budget of a request body. */
export function computeBudget(body: Readonly<Record<string, unknown>>): ComputeBudget {
  const price = body['computeUnitPriceMicroLamports'];
  if (typeof price === 'number')
    return { unitLimit: MAX_COMPUTE_UNITS, unitPrice: BigInt(Math.trunc(price)) };
  const fee = body['prioritizationFeeLamports'];
  return {
    unitLimit: MAX_COMPUTE_UNITS,
    unitPrice:
      typeof fee === 'number'
        ? (BigInt(Math.trunc(fee)) * 1_000_000n) / BigInt(MAX_COMPUTE_UNITS)
        : DEFAULT_UNIT_PRICE,
  };
}

/** Returns the priority fee of a compute budget, in lamports. */
export function priorityFeeLamports(budget: ComputeBudget): number {
  return Number((BigInt(budget.unitLimit) * budget.unitPrice + 999_999n) / 1_000_000n);
}

export function unitLimitInstruction(units: number): Instruction {
  const data = new Uint8Array(5);
  data[0] = 2;
  new DataView(data.buffer).setUint32(1, units, true);
  return { programAddress: COMPUTE_BUDGET_PROGRAM, data };
}

export function unitPriceInstruction(microLamports: bigint): Instruction {
  const data = new Uint8Array(9);
  data[0] = 3;
  new DataView(data.buffer).setBigUint64(1, microLamports, true);
  return { programAddress: COMPUTE_BUDGET_PROGRAM, data };
}

/** Fetches the latest blockhash of the sandbox's node. */
export async function latestBlockhash(
  rpc: SolanaRpc,
): Promise<{ blockhash: string; lastValidBlockHeight: bigint }> {
  return (await rpc.getLatestBlockhash({ commitment: 'confirmed' }).send()).value;
}

/** Builds the answer of `POST /swap/v1/swap` with the whole unsigned transaction. */
export async function swapTransaction(
  rpc: SolanaRpc,
  request: {
    readonly user: Address;
    readonly parts: SwapParts;
    readonly budget: ComputeBudget;
    readonly dynamicLimit: boolean;
  },
  pools: Pools,
): Promise<Record<string, unknown>> {
  const lifetime = await latestBlockhash(rpc);
  const wire = (budget: ComputeBudget): Base64EncodedWireTransaction =>
    compile(
      request.user,
      lifetime,
      [
        unitLimitInstruction(budget.unitLimit),
        unitPriceInstruction(budget.unitPrice),
        ...instructionsOf(request.parts),
      ],
      pools,
    );
  const simulated = request.dynamicLimit ? await simulate(rpc, wire(request.budget)) : undefined;
  const budget =
    simulated?.unitLimit === undefined
      ? request.budget
      : rescaled(request.budget, simulated.unitLimit);
  return {
    swapTransaction: wire(budget),
    lastValidBlockHeight: Number(lifetime.lastValidBlockHeight),
    prioritizationFeeLamports: priorityFeeLamports(budget),
    computeUnitLimit: budget.unitLimit,
    prioritizationType: {
      computeBudget: {
        microLamports: Number(budget.unitPrice),
        estimatedMicroLamports: Number(budget.unitPrice),
      },
    },
    dynamicSlippageReport: null,
    simulationError: simulated?.error ?? null,
  };
}

function instructionsOf(parts: SwapParts): Instruction[] {
  return [...parts.setup, parts.swap, ...(parts.cleanup === undefined ? [] : [parts.cleanup])];
}

function compile(
  user: Address,
  lifetime: { readonly blockhash: string; readonly lastValidBlockHeight: bigint },
  instructions: readonly Instruction[],
  pools: Pools,
): Base64EncodedWireTransaction {
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (m) => setTransactionMessageFeePayer(user, m),
    (m) =>
      setTransactionMessageLifetimeUsingBlockhash(
        { ...lifetime, blockhash: blockhash(lifetime.blockhash) },
        m,
      ),
    (m) => appendTransactionMessageInstructions(instructions, m),
    (m) => compressTransactionMessageUsingAddressLookupTables(m, pools.lookupTables),
  );
  return getBase64EncodedWireTransaction(compileTransaction(message));
}

/** Returns a budget with the same priority fee and another unit limit. */
function rescaled(budget: ComputeBudget, unitLimit: number): ComputeBudget {
  return {
    unitLimit,
    unitPrice: (budget.unitPrice * BigInt(budget.unitLimit)) / BigInt(unitLimit),
  };
}

async function simulate(
  rpc: SolanaRpc,
  wire: Base64EncodedWireTransaction,
): Promise<{ unitLimit?: number; error?: unknown }> {
  const { value } = await rpc
    .simulateTransaction(wire, {
      encoding: 'base64',
      sigVerify: false,
      replaceRecentBlockhash: true,
      commitment: 'confirmed',
    })
    .send();
  if (value.err !== null) {
    const error = JSON.stringify(value.err, (_name, part: unknown) =>
      typeof part === 'bigint' ? Number(part) : part,
    );
    return { error: { errorCode: 'TRANSACTION_ERROR', error } };
  }
  const used = Number(value.unitsConsumed ?? MAX_COMPUTE_UNITS);
  return { unitLimit: Math.min(MAX_COMPUTE_UNITS, Math.ceil(used * 1.2) + 5_000) };
}
