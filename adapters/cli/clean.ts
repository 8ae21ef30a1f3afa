/**
 * What a terminal acts on, what directs text, and what does not show: control characters apart from
 * tab and line breaks, format characters, private ones, half surrogates.
 */
const UNSAFE = /(?![\t\n])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;

/** Text of a seller of any length, fit to be shown on a terminal. */
export function cleanForTerminal(text: string): string {
  return text.replace(/\r\n/g, '\n').replace(UNSAFE, '\u{fffd}');
}

/** The most that is shown of a text in a line of ours. */
const LINE_LIMIT = 200;

/** Text of a seller, fit to stand in a line of ours. */
export function cleanLine(text: string): string {
  return cleanForTerminal(text.slice(0, LINE_LIMIT)).replace(/[\t\n]/g, ' ');
}
