/** Fewest characters of a text of 32 bytes: a seed, the first half of a key. */
export const SHORTEST_SEED = 32;
/** Fewest characters of such a text besides the words in it. A path is made of words. */
const FEWEST_ODD = 16;
const WORD = /^(?:[A-Z]+|[A-Z]?[a-z]*(?:[A-Z][a-z]{2,})*)\d*$/;

/** Text in base58, base64 or hex, or a part of it that is long enough to tell its key. */
export const TOKENS = /[\w+/-]{12,}={0,2}/g;
/** Bytes as numbers, or as many of them. */
export const NUMBERS = /\d{1,3}(?:\s*,\s*\d{1,3}){11,}/g;

/** Returns the parts of a text that could be a key or a seed, in any spelling. */
export function keysIn(text: string): readonly string[] {
  const tokens = (text.match(TOKENS) ?? []).filter(
    (token) => token.length >= SHORTEST_SEED && oddLength(token) >= FEWEST_ODD,
  );
  return [...tokens, ...(text.match(NUMBERS) ?? [])];
}

/** Returns how many characters are in no word. */
function oddLength(token: string): number {
  return token
    .split(/[^A-Za-z0-9]+/)
    .reduce((sum, piece) => (WORD.test(piece) ? sum : sum + piece.length), 0);
}
