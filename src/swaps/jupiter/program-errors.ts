/** Errors of Jupiter's program that say what to do; by number. */
export const programErrors: ReadonlyMap<number, string> = new Map([
  [6000, 'EmptyRoute'],
  [6001, 'SlippageToleranceExceeded'],
  [6008, 'NotEnoughAccountKeys'],
  [6014, 'IncorrectTokenProgramID'],
  [6016, 'SwapNotSupported'],
  [6017, 'ExactOutAmountNotMatched'],
  [6024, 'InsufficientFunds'],
  [6025, 'InvalidTokenAccount'],
]);

const PRICE_MOVED = /SlippageToleranceExceeded|ExactOutAmountNotMatched|"Custom":(?:6001|6017)\b/;

export function errorName(code: number): string | undefined {
  return programErrors.get(code);
}

export function isPriceMoved(reason: string): boolean {
  return PRICE_MOVED.test(reason);
}
