/** A mend that can be taken back: exact text of a file as it stands, and as it was before, or as a careless change would make it. */
export interface Mend {
  readonly name: string;
  /** The promise that does not hold without it. */
  readonly breaks: 'paid once' | 'within caps' | 'spent tells all' | 'all is decided';
  readonly changes: readonly { readonly file: string; readonly now: string; readonly before: string }[];
}

export const mends: readonly Mend[] = [
  {
    name: 'caps-count-all',
    breaks: 'within caps',
    changes: [
      {
        file: 'src/policy/cost.ts',
        now: 'const swaps = plusSwap(swapped ?? noSwapCost, swapping ?? noSwapCost);',
        before: 'const swaps = noSwapCost;',
      },
    ],
  },
  {
    name: 'unpinned-input-counts',
    breaks: 'within caps',
    changes: [
      {
        file: 'src/autopay/swap-cost.ts',
        now: 'const isPinned = pinnedMint(network, outputMint) !== undefined;',
        before: 'const isPinned = true;',
      },
    ],
  },
  {
    name: 'failed-swaps-count',
    breaks: 'spent tells all',
    changes: [
      {
        file: 'src/autopay/swap-cost.ts',
        now: "if (outcome.code === 'swap_expired') return undefined;",
        before: "if (outcome.code === 'swap_expired' || outcome.code === 'swap_failed') return undefined;",
      },
    ],
  },
  {
    name: 'swaps-are-reserved',
    breaks: 'within caps',
    changes: [
      {
        file: 'src/autopay/purchase.ts',
        now: 'let refused = await core.journal.raise(next, caps);',
        before: 'let refused = await core.journal.raise(next, []);',
      },
    ],
  },
  {
    name: 'second-witness',
    breaks: 'paid once',
    changes: [
      {
        file: 'src/autopay/fate.ts',
        now: '  if (!isWhole) return OPEN;\n',
        before: '',
      },
      { file: 'src/autopay/fate.ts', now: '(!isIndexed && !sent.isId) || ', before: '' },
    ],
  },
  {
    name: 'index-reach',
    breaks: 'paid once',
    changes: [{ file: 'src/autopay/fate.ts', now: '(!isIndexed && !sent.isId) || ', before: '' }],
  },
  {
    name: 'nodes-judge-blockhashes',
    breaks: 'paid once',
    changes: [
      {
        file: 'src/autopay/fate.ts',
        now: 'tip.height > sent.lastValidBlockHeight ? await expiredAt(node, sent, tip.slot, signal) : undefined;',
        before: 'tip.height > sent.lastValidBlockHeight ? tip.slot : undefined;',
      },
      {
        file: 'src/solana/connection.ts',
        now: 'if (!mayLiveUntil(lastValidBlockHeight, slot, tip))',
        before: 'if (slot < 0)',
      },
    ],
  },
  {
    name: 'broken-bodies-are-not-delivered',
    breaks: 'paid once',
    changes: [
      {
        file: 'src/autopay/present.ts',
        now: '  const isAwaited = delivered && hasBody(response);\n',
        before: '  const isAwaited = false;\n',
      },
    ],
  },
  {
    name: 'recorded-before-it-leaves',
    breaks: 'paid once',
    changes: [
      {
        file: 'src/autopay/purchase.ts',
        now: '    await core.journal.put(open);\n',
        before: '    core.config.runtime.sleep(3_000).then(() => core.journal.put(open)).catch(() => undefined);\n',
      },
    ],
  },
  {
    name: 'earlier-attempts-are-adopted',
    breaks: 'paid once',
    changes: [
      {
        file: 'src/autopay/adopt.ts',
        now: '    if (idempotencyKey !== undefined || (lost && untold)) found.push({ ...attempt, payment, receipt });',
        before: '    if (idempotencyKey !== undefined) found.push({ ...attempt, payment, receipt });',
      },
    ],
  },
];
