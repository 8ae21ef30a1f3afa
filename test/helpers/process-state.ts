/** Returns the symbols on the global object under which the library keeps state of the process. */
export function processState(): symbol[] {
  return Object.getOwnPropertySymbols(globalThis).filter(
    ({ description }) => description?.startsWith('exact-change.') === true,
  );
}
