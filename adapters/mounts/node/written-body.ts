/** Turns the value that a parser made of a body into a body again. */
export function writtenBody(parsed: unknown): BodyInit {
  if (typeof parsed === 'string') return parsed;
  if (parsed instanceof Uint8Array) return new Uint8Array(parsed);
  // Some middleware has read the body and left no value.
  if (parsed === undefined) return '';
  try {
    return JSON.stringify(parsed);
  } catch {
    // The value is nested deeper than the stack; the handler refuses such a body by its depth.
    return '['.repeat(1_000);
  }
}
