/** Bytes as they are, or as what differs from those of an earlier row. */
export type Delta =
  | string
  | { readonly like: number; readonly parts: readonly (string | readonly [number, number])[] };

/** So many of the last rows are compared. */
const RECENT = 60;
/** A piece that is shorter costs more to name than to write. */
const SHORTEST = 12;

/**
 * Writes bytes row by row; a part of an earlier row is a place and a length in it, all else base64.
 */
export function createDeltas(): (bytes: Uint8Array) => Delta {
  const known: Buffer[] = [];
  return (bytes) => {
    const one = Buffer.from(bytes);
    const whole = one.toString('base64');
    let best: Delta = whole;
    for (let at = Math.max(0, known.length - RECENT); at < known.length; at += 1) {
      const delta = { like: at, parts: partsOf(one, known[at] ?? Buffer.of()) };
      if (JSON.stringify(delta).length < JSON.stringify(best).length) best = delta;
    }
    known.push(one);
    return best;
  };
}

function partsOf(one: Buffer, like: Buffer): (string | [number, number])[] {
  const parts: (string | [number, number])[] = [];
  let written = 0;
  const flush = (until: number) => {
    if (until > written) parts.push(one.subarray(written, until).toString('base64'));
  };
  for (let at = 0; at + SHORTEST <= one.length;) {
    const place = like.indexOf(one.subarray(at, at + SHORTEST));
    if (place === -1) {
      at += 1;
      continue;
    }
    let length = SHORTEST;
    while (at + length < one.length && one[at + length] === like[place + length]) length += 1;
    flush(at);
    parts.push([place, length]);
    at += length;
    written = at;
  }
  flush(one.length);
  return parts;
}
