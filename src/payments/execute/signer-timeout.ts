import { wrapSigner } from '../../solana/keys.js';
import { bounded } from '../../internal/bounded.js';
import type { Signer } from '../../solana/signer.js';
import type { PaymentContext } from '../context.js';

/**
 * The wallet's signer, whose calls fail if it does not answer in time, the caller gives up or
 * the client closes: locks and budgets wait for it. What it signs too late is dropped, and has
 * never left.
 */
export function signerWithTimeout(
  { config, closing }: Pick<PaymentContext, 'config' | 'closing'>,
  signal: AbortSignal | undefined,
): Signer {
  const { signer, timeouts } = config;
  const late = () =>
    new Error(`The signer did not answer within timeouts.signer, ${timeouts.signer} ms.`);
  return wrapSigner(signer, (ask) => bounded(timeouts.signer, late, [signal, closing.signal], ask));
}
