import { UNSAFE } from '../../src/internal/unsafe-text.js';

/** Returns a seller's text without characters that control a terminal. Lines and tabs stay. */
export function cleanForTerminal(text: string): string {
  const shown = (unsafe: string) => (unsafe === '\n' || unsafe === '\t' ? unsafe : '\u{fffd}');
  return text.replace(/\r\n/g, '\n').replace(UNSAFE, shown);
}

/** Longest piece of a seller's text in one line of output. Characters. */
const LINE_LIMIT = 200;

/** Returns a seller's text for use within a line of output: cleaned, cut, and on one line. */
export function cleanLine(text: string): string {
  return cleanForTerminal(text.slice(0, LINE_LIMIT)).replace(/[\t\n]/g, ' ');
}

/** Returns JSON with terminal control characters escaped. A JSON parser reads the same value. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value).replace(UNSAFE, (unsafe) =>
    Array.from({ length: unsafe.length }, (_, at) => unsafe.charCodeAt(at))
      .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
