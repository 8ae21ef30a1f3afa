import { jupiterDecoder } from './jupiter/decoder.js';
import type { SwapDecoder, SwapSource } from './provider.js';
import { lazyPart } from '../internal/load-once.js';

const jupiter = /* @__PURE__ */ lazyPart(() => import('./jupiter/connect.js'));

/** Sources of swaps, in the order in which they are asked. */
export const swapSources: readonly SwapSource[] = [
  {
    decoder: jupiterDecoder,
    connect: async (...settings) => (await jupiter()).connect(...settings),
  },
];

export const swapDecoders = decodersOf(swapSources);

export function decodersOf(sources: readonly SwapSource[] = swapSources): readonly SwapDecoder[] {
  return sources.map(({ decoder }) => decoder);
}
