/** Deepest nesting of a message: a 402's own body or a quote of Jupiter's needs far less. */
export const MAX_DEPTH = 32;

/** Whether brackets outside of strings are nested deeper than `limit`. It builds no values. */
export function isDeeper(text: string, limit: number): boolean {
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (quoted) {
      if (character === '\\') at += 1;
      else if (character === '"') quoted = false;
    } else if (character === '"') quoted = true;
    else if (character === '{' || character === '[') {
      depth += 1;
      if (depth > limit) return true;
    } else if (character === '}' || character === ']') depth -= 1;
  }
  return false;
}
