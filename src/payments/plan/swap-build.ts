import { TransportError } from '../../errors.js';
import { isRecord } from '../../internal/record.js';
import { isAddress } from '../../solana/address.js';
import type { AccountMeta, Instruction } from '../../solana/types.js';
import { extractSwap } from '../../swaps/firewall/extract.js';
import { buildLimits, type SwapBuild } from '../../swaps/provider.js';
import { decodersOf } from '../../swaps/sources.js';
import type { SwapQuote } from '../../swaps/types.js';
import type { PaymentContext } from '../context.js';

/** @param built - A transaction that a service built along with the quote. */
export async function buildFor(
  context: PaymentContext,
  quote: SwapQuote,
  built: unknown,
  signal: AbortSignal | undefined,
): Promise<SwapBuild> {
  const wallet = context.config.signer.address;
  const { transport } = context;
  const decoders = decodersOf(context.sources);
  if (built !== undefined) return extractSwap(context.rpc, built, wallet, { signal, decoders });
  if (transport.swapInstruction !== undefined)
    return copyBuild(await transport.swapInstruction({ wallet, quote }, { signal }));
  const answer: unknown = await transport.buildSwap({ wallet, quote }, { signal });
  return extractSwap(context.rpc, isRecord(answer) ? answer['transaction'] : undefined, wallet, {
    signal,
    decoders,
  });
}

/**
 * Copies the build from a transport's answer, so that later changes cannot bypass the checks.
 * Throws `invalid_response` if the answer is malformed. The firewall checks the lookup tables.
 */
export function copyBuild(answer: unknown): SwapBuild {
  const { instruction, lookupTables } = isRecord(answer) ? answer : {};
  const copy = copyInstruction(instruction);
  if (
    copy === undefined ||
    !Array.isArray(lookupTables) ||
    lookupTables.length > buildLimits.tables
  )
    throw unusable();
  // Do not call the array's own `map`, because the transport may have replaced it.
  return { instruction: copy, lookupTables: Array.from(lookupTables, copyText) };
}

function copyInstruction(value: unknown): Instruction | undefined {
  const { program, accounts, data } = isRecord(value) ? value : {};
  if (!isAddress(program) || !Array.isArray(accounts) || accounts.length > buildLimits.accounts)
    return undefined;
  if (!(data instanceof Uint8Array) || data.length > buildLimits.dataBytes) return undefined;
  return { program, accounts: Array.from(accounts, copyMeta), data: Uint8Array.from(data) };
}

function copyMeta(value: unknown): AccountMeta {
  const { address, signer, writable } = isRecord(value) ? value : {};
  if (!isAddress(address) || typeof signer !== 'boolean' || typeof writable !== 'boolean')
    throw unusable();
  return { address, signer, writable };
}

function copyText(value: unknown): string {
  if (typeof value !== 'string') throw unusable();
  return value;
}

function unusable(): TransportError {
  const reason = 'its swap instruction is not one';
  return new TransportError(
    'invalid_response',
    `The transport's answer cannot be used: ${reason}. Try again, or use another.`,
    { details: { service: 'transport', reason } },
  );
}
