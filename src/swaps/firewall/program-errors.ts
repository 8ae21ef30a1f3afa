import { JUPITER_PROGRAM } from '../../network.js';

/** Errors of Jupiter's program that say what to do; by number. */
const NAMES: ReadonlyMap<number, string> = new Map([
  [6000, 'EmptyRoute'],
  [6001, 'SlippageToleranceExceeded'],
  [6008, 'NotEnoughAccountKeys'],
  [6014, 'IncorrectTokenProgramID'],
  [6016, 'SwapNotSupported'],
  [6017, 'ExactOutAmountNotMatched'],
  [6024, 'InsufficientFunds'],
  [6025, 'InvalidTokenAccount'],
]);

const FAILED = /^Program (\w{32,44}) failed: (?:custom program error: 0x([0-9a-f]{1,8})$)?/;

/**
 * The name of the error with which Jupiter's program failed, read from the logs; undefined if it
 * did not, or not with a known one.
 */
export function programErrorName(logs: readonly string[]): string | undefined {
  for (const line of logs) {
    const failure = FAILED.exec(line);
    if (failure === null) continue;
    // The innermost program fails first and its callers repeat its number: a venue may use
    // Jupiter's for something else.
    const [, program, code] = failure;
    return program === JUPITER_PROGRAM && code !== undefined
      ? NAMES.get(Number.parseInt(code, 16))
      : undefined;
  }
  return undefined;
}
