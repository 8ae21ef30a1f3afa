import { UNSAFE } from '../../src/internal/unsafe-text.js';

/** Text of a seller of any length, fit to be shown on a terminal: lines and tabs stay. */
export function cleanForTerminal(text: string): string {
  const shown = (unsafe: string) => (unsafe === '\n' || unsafe === '\t' ? unsafe : '\u{fffd}');
  return text.replace(/\r\n/g, '\n').replace(UNSAFE, shown);
}

/** The most that is shown of a text in a line of ours. */
const LINE_LIMIT = 200;

/** Text of a seller, fit to stand in a line of ours. */
export function cleanLine(text: string): string {
  return cleanForTerminal(text.slice(0, LINE_LIMIT)).replace(/[\t\n]/g, ' ');
}

/** JSON in which what a terminal acts on is escaped: the same to all that reads JSON. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value).replace(UNSAFE, (unsafe) =>
    Array.from({ length: unsafe.length }, (_, at) => unsafe.charCodeAt(at))
      .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
