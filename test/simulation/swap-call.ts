import { accountOf, EVENT_AUTHORITY, JUPITER, POOL_AUTHORITY } from './places.js';
import { u16At, u64At, type Step } from './wire.js';

/** The content of a swap instruction, in either form that the simulated Jupiter builds. */
export interface SwapCall {
  readonly mode: 'ExactIn' | 'ExactOut';
  readonly user: string;
  readonly source: string;
  readonly destination: string;
  readonly inputMint: string;
  readonly outputMint: string;
  readonly inputProgram: string;
  readonly outputProgram: string;
  readonly vaultIn: string;
  readonly vaultOut: string;
  /** Authority of the vaults. */
  readonly authority: string;
  /** The exact amount in `ExactIn`, the quoted amount in `ExactOut`. */
  readonly inAmount: bigint;
  readonly outAmount: bigint;
  readonly slippageBps: number;
}

const FORMS = { ExactIn: 'bb64facc31c4af14', ExactOut: '9d8ab85215f4f324' } as const;
/** A route of a single step for the whole amount, as the sandbox's aggregator writes it. */
const ROUTE = [1, 0, 0, 0, 0, 0x10, 0x27, 0, 1];

/** An account of an instruction, in the form of Jupiter's API. */
export interface Meta {
  readonly pubkey: string;
  readonly isSigner: boolean;
  readonly isWritable: boolean;
}

export type SwapOrder = Omit<
  SwapCall,
  'source' | 'destination' | 'vaultIn' | 'vaultOut' | 'authority'
>;

/** Writes a swap instruction in the form of Jupiter's API. */
export function writeSwap(order: SwapOrder): { programId: string; accounts: Meta[]; data: string } {
  const {
    mode,
    user,
    inputMint,
    outputMint,
    inputProgram,
    outputProgram,
    inAmount,
    outAmount,
    slippageBps,
  } = order;
  const meta = (pubkey: string, isWritable = false, isSigner = false): Meta => ({
    pubkey,
    isSigner,
    isWritable,
  });
  const numbers = Buffer.alloc(22);
  numbers.writeBigUInt64LE(mode === 'ExactIn' ? inAmount : outAmount, 0);
  numbers.writeBigUInt64LE(mode === 'ExactIn' ? outAmount : inAmount, 8);
  numbers.writeUInt16LE(slippageBps, 16);
  return {
    programId: JUPITER,
    accounts: [
      meta(user, false, true),
      meta(accountOf(user, inputMint, inputProgram), true),
      meta(accountOf(user, outputMint, outputProgram), true),
      ...[
        inputMint,
        outputMint,
        inputProgram,
        outputProgram,
        JUPITER,
        EVENT_AUTHORITY,
        JUPITER,
      ].map((account) => meta(account)),
      meta(accountOf(POOL_AUTHORITY, inputMint, inputProgram), true),
      meta(accountOf(POOL_AUTHORITY, outputMint, outputProgram), true),
      meta(POOL_AUTHORITY),
    ],
    data: Buffer.concat([Buffer.from(FORMS[mode], 'hex'), numbers, Buffer.from(ROUTE)]).toString(
      'base64',
    ),
  };
}

export function readSwap({ accounts, data }: Step): SwapCall | undefined {
  const form = Buffer.from(data.subarray(0, 8)).toString('hex');
  const mode =
    form === FORMS.ExactIn ? 'ExactIn' : form === FORMS.ExactOut ? 'ExactOut' : undefined;
  const [
    user,
    source,
    destination,
    inputMint,
    outputMint,
    inputProgram,
    outputProgram,
    ,
    ,
    ,
    vaultIn,
    vaultOut,
    authority,
  ] = accounts;
  if (
    mode === undefined ||
    user === undefined ||
    source === undefined ||
    destination === undefined ||
    inputMint === undefined
  )
    return undefined;
  if (outputMint === undefined || inputProgram === undefined || outputProgram === undefined)
    return undefined;
  if (
    vaultIn === undefined ||
    vaultOut === undefined ||
    authority === undefined ||
    data.length < 30
  )
    return undefined;
  const [first, second] = [u64At(data, 8), u64At(data, 16)];
  return {
    ...{
      mode,
      user,
      source,
      destination,
      inputMint,
      outputMint,
      inputProgram,
      outputProgram,
      vaultIn,
      vaultOut,
      authority,
    },
    inAmount: mode === 'ExactIn' ? first : second,
    outAmount: mode === 'ExactIn' ? second : first,
    slippageBps: u16At(data, 24),
  };
}
