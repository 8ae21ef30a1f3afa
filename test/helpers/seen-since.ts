/** Takes balances for true that were seen at a moment or later. */
export const seenSince = (moment: number) => (at: number) => at >= moment;
