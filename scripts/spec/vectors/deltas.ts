/** Bytes in base64, or as their difference from the bytes of an earlier row. */
export type Delta =
  | string
  | { readonly like: number; readonly parts: readonly (string | readonly [number, number])[] };

/** Number of latest rows that are compared. */
const RECENT = 60;
/** Least length of a copied piece; a reference to a shorter piece is longer than its base64. */
const SHORTEST = 12;

/**
 * Returns a function that encodes the bytes of each row. A part of an earlier row is written as an
 * offset and a length, the rest as base64.
 */
export function createDeltas(): (bytes: Uint8Array) => Delta {
  const known: Buffer[] = [];
  return (bytes) => {
    const row = Buffer.from(bytes);
    const whole = row.toString('base64');
    let best: Delta = whole;
    for (let at = Math.max(0, known.length - RECENT); at < known.length; at += 1) {
      const delta = { like: at, parts: partsOf(row, known[at] ?? Buffer.of()) };
      if (JSON.stringify(delta).length < JSON.stringify(best).length) best = delta;
    }
    known.push(row);
    return best;
  };
}

function partsOf(row: Buffer, like: Buffer): (string | [number, number])[] {
  const parts: (string | [number, number])[] = [];
  let written = 0;
  const flush = (until: number) => {
    if (until > written) parts.push(row.subarray(written, until).toString('base64'));
  };
  for (let at = 0; at + SHORTEST <= row.length;) {
    const place = like.indexOf(row.subarray(at, at + SHORTEST));
    if (place === -1) {
      at += 1;
      continue;
    }
    let length = SHORTEST;
    while (at + length < row.length && row[at + length] === like[place + length]) length += 1;
    flush(at);
    parts.push([place, length]);
    at += length;
    written = at;
  }
  flush(row.length);
  return parts;
}
