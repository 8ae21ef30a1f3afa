type Fetch = typeof globalThis.fetch;

/**
 * Makes a fetch that breaks one of `inHow` calls: before it leaves, after its answer, or with 503.
 * The same seed breaks the same calls.
 */
export function faultyFetch(seed: number, inHow = 10): Fetch {
  const random = generator(seed);
  return async (input, init) => {
    const draw = random();
    if (draw >= 1 / inHow) return fetch(input, init);
    const kind = Math.floor(draw * inHow * 3);
    if (kind === 0) throw new TypeError('cut before it left');
    const response = await fetch(input, init);
    await response.arrayBuffer();
    if (kind === 1) throw new TypeError('cut after it was answered');
    return new Response('busy', { status: 503 });
  };
}

/** mulberry32: returns numbers from 0 to 1 that depend only on the seed. */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
