import { UNSAFE } from '../../src/internal/unsafe-text.js';

/** Returns a seller's text without characters that control a terminal. Lines and tabs stay. */
export function cleanForTerminal(text: string): string {
  const shown = (unsafe: string) => (unsafe === '\n' || unsafe === '\t' ? unsafe : '\u{fffd}');
  return text.replace(/\r\n/g, '\n').replace(UNSAFE, shown);
}

/**
 * Longest piece of a seller's text in one line of output. Characters. The host of a URL fits,
 * because a person decides by it, and its end names its owner.
 */
const LINE_LIMIT = 300;

/** Returns a seller's text for use within a line of output: cleaned, on one line, and cut. */
export function cleanLine(text: string): string {
  const line = cleanForTerminal(text.slice(0, LINE_LIMIT)).replace(/[\t\n]/g, ' ');
  return text.length > LINE_LIMIT ? `${line}...` : line;
}

/** Returns JSON with terminal control characters escaped. A JSON parser reads the same value. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value).replace(UNSAFE, (unsafe) =>
    Array.from({ length: unsafe.length }, (_, at) => unsafe.charCodeAt(at))
      .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
