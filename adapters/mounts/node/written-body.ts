/** What a parser made of a body, as a body again. */
export function writtenBody(parsed: unknown): BodyInit {
  if (typeof parsed === 'string') return parsed;
  if (parsed instanceof Uint8Array) return new Uint8Array(parsed);
  // Read by something that left nothing of it.
  if (parsed === undefined) return '';
  try {
    return JSON.stringify(parsed);
  } catch {
    // Nested deeper than the stack, which the handler refuses in any body.
    return '['.repeat(1_000);
  }
}
