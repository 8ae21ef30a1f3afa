/** What the library keeps for all of a process: names on the global object. */
export function processState(): symbol[] {
  return Object.getOwnPropertySymbols(globalThis).filter(
    ({ description }) => description?.startsWith('exact-change.') === true,
  );
}
