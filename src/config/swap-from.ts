import { refuse } from '../internal/options.js';
import { readMint } from '../policy/read.js';

/** Reads the mints to swap from, in order. Throws `ConfigError` (`invalid_option`). */
export function parseSwapFrom(mints: unknown, network: string): readonly string[] | undefined {
  if (mints === undefined) return undefined;
  if (!Array.isArray(mints))
    throw refuse('swapFrom', 'must be a list of mint addresses or pinned symbols.');
  return mints.map((mint) => readMint('swapFrom', mint, network));
}
