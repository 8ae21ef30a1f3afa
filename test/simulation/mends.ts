import type { Broken } from './judge.js';

/**
 * A mend that the simulator can revert. Each change has the exact text of a file now, and the text
 * before the mend, or the text that a careless change would make.
 */
export interface Mend {
  readonly name: string;
  /** The promise that is broken without the mend. */
  readonly breaks: Broken['promise'];
  readonly changes: readonly {
    readonly file: string;
    readonly now: string;
    readonly before: string;
  }[];
}

export const mends: readonly Mend[] = [
  {
    name: 'caps-count-all',
    breaks: 'within caps',
    changes: [
      {
        file: 'src/policy/cost.ts',
        now: '? (swapped ?? swapping ?? noSwapCost)',
        before: '? noSwapCost',
      },
    ],
  },
  {
    name: 'unpinned-input-counts',
    breaks: 'within caps',
    changes: [
      {
        file: 'src/payments/plan/swap-cost-bound.ts',
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
        file: 'src/payments/plan/swap-cost.ts',
        now: "if (outcome.code === 'swap_expired') return undefined;",
        before:
          "if (outcome.code === 'swap_expired' || outcome.code === 'swap_failed') return undefined;",
      },
    ],
  },
  {
    name: 'swaps-are-reserved',
    breaks: 'within caps',
    changes: [
      {
        file: 'src/payments/execute/swap-record.ts',
        now: '() => journal.raise(next, caps)',
        before: '() => journal.raise(next, [])',
      },
    ],
  },
  {
    name: 'second-witness',
    breaks: 'paid once',
    changes: [
      {
        file: 'src/payments/reconcile/search-history.ts',
        now: '  if (!isBalanceExplained) return OPEN;\n',
        before: '',
      },
      {
        file: 'src/payments/reconcile/search-history.ts',
        now: '(!isIndexed && !sent.isId) || ',
        before: '',
      },
    ],
  },
  {
    name: 'index-reach',
    breaks: 'paid once',
    changes: [
      {
        file: 'src/payments/reconcile/search-history.ts',
        now: '(!isIndexed && !sent.isId) || ',
        before: '',
      },
    ],
  },
  {
    name: 'nodes-judge-blockhashes',
    breaks: 'paid once',
    changes: [
      {
        file: 'src/payments/reconcile/search-history.ts',
        now: '? await expiredAt(node, sent, tip.slot, signal)',
        before: '? tip.slot',
      },
      {
        file: 'src/solana/rpc/tip.ts',
        now: '!mayLiveUntil(latest, first ?? (await readTip(request, COMMITMENT, call)))',
        before: 'latest.slot < 0',
      },
    ],
  },
  {
    name: 'broken-bodies-are-not-delivered',
    breaks: 'paid once',
    changes: [
      {
        file: 'src/payments/execute/present.ts',
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
        file: 'src/payments/execute/reservation.ts',
        now: '      await journal.put(signed, { claim: [bodyClaim(id)] });\n',
        before:
          '      config.runtime.sleep(3_000).then(() => journal.put(signed)).catch(() => undefined);\n',
      },
    ],
  },
  {
    name: 'earlier-attempts-are-adopted',
    breaks: 'paid once',
    changes: [
      {
        file: 'src/payments/reconcile/settle-earlier.ts',
        now: 'if (idempotencyKey !== undefined || (lost && isSame))',
        before: 'if (idempotencyKey !== undefined)',
      },
    ],
  },
  {
    name: 'swaps-have-a-limit',
    breaks: 'within caps',
    changes: [
      { file: 'src/policy/cost.ts', now: '  add(SWAPS, BigInt(swaps.swaps));\n', before: '' },
    ],
  },
  {
    name: 'only-what-is-safe-is-retried',
    breaks: 'sent as often as is safe',
    changes: [
      {
        file: 'src/payments/send-unpaid.ts',
        now: "const isSafe = !call.paysItself && (call.method === 'GET' || call.method === 'HEAD');",
        before: 'const isSafe = !call.paysItself;',
      },
    ],
  },
  {
    name: 'headers-are-not-retried',
    breaks: 'sent as often as is safe',
    changes: [
      {
        file: 'src/payments/send-unpaid.ts',
        now: "const isSafe = !call.paysItself && (call.method === 'GET' || call.method === 'HEAD');",
        before: "const isSafe = call.method === 'GET' || call.method === 'HEAD';",
      },
    ],
  },
  {
    name: 'own-headers-follow-no-redirect',
    breaks: 'payments stay with their sellers',
    changes: [
      {
        file: 'src/internal/request.ts',
        now: '          ...(paysItself && unfollowed(parts)),\n',
        before: '',
      },
    ],
  },
  {
    name: 'payments-follow-no-redirect',
    breaks: 'payments stay with their sellers',
    changes: [
      {
        file: 'src/internal/request.ts',
        now: "        redirect: 'manual',\n        ...uncached(),",
        before: '        ...uncached(),',
      },
    ],
  },
  {
    name: 'young-sellers-get-a-memo',
    breaks: 'sellers can be paid',
    changes: [
      {
        file: 'src/protocols/x402/offer.ts',
        now: "const takesMemo = x402Version === 2 || name.includes(':') || isYounger(extra);",
        before: 'const takesMemo = x402Version === 2;',
      },
    ],
  },
  {
    name: 'signals-have-one-listener',
    breaks: 'throws what it says',
    changes: [
      {
        file: 'src/internal/abort.ts',
        now: 'groups.get(signal) ?? startGroup(signal);',
        before: 'startGroup(signal);',
      },
      {
        file: 'src/internal/abort.ts',
        now: 'if (callbacks.size > 0 || groups.get(signal)?.callbacks !== callbacks) return;',
        before: 'if (callbacks.size > 0) return;',
      },
    ],
  },
  {
    name: 'lasting-signals-are-not-handed-on',
    breaks: 'throws what it says',
    changes: [
      {
        file: 'src/internal/request.ts',
        now: 'initCopy.signal ? followSignal(initCopy.signal) : undefined;',
        before: 'undefined as ReturnType<typeof followSignal> | undefined;',
      },
    ],
  },
  {
    name: 'keys-of-nodes-are-hidden',
    breaks: 'keys are shown to no caller',
    changes: [{ file: 'src/config/addresses.ts', now: '  hideAddress(url.href);\n', before: '' }],
  },
  {
    name: 'keys-of-jupiter-are-hidden',
    breaks: 'keys are shown to no caller',
    changes: [{ file: 'src/config/parse-options.ts', now: '  hideKey(trimmed);\n', before: '' }],
  },
  {
    name: 'few-offers-are-priced',
    breaks: 'asks no more than it must',
    changes: [
      {
        file: 'src/payments/plan/choose.ts',
        now: '(unpinned += 1) > MAX_UNPINNED',
        before: '(unpinned += 1) > 1_000',
      },
    ],
  },
  {
    name: 'keys-hold-one-purchase',
    breaks: 'receipts are true',
    changes: [
      {
        file: 'src/service/plan-step.ts',
        now: 'bearer !== undefined && !isOffered(step, bearer)',
        before: 'step === undefined',
      },
      {
        file: 'src/service/pay-step.ts',
        now: 'read.reading.offer.memo === undefined && !mayBeFor(read.memo, step.purchase)',
        before: 'read === undefined',
      },
    ],
  },
  {
    name: 'payments-are-for-one-key',
    breaks: 'paid once',
    changes: [
      {
        file: 'src/service/pay-step.ts',
        now: 'if (!isFor({ url, idempotencyKey }, known))',
        before: "if (known.url === '')",
      },
    ],
  },
  {
    name: 'paid-ahead-is-decided-first',
    breaks: 'paid once',
    changes: [
      {
        file: 'src/payments/pay-ahead.ts',
        now: "return open.attempt.state === 'unsettled' ? terms : undefined;",
        before: 'return terms;',
      },
      {
        file: 'src/payments/pay-ahead.ts',
        now: "  if (first.attempt.state === 'settled') throw alreadySpent(first, shown.rejected.response);\n",
        before: '',
      },
    ],
  },
  {
    name: 'settled-payments-are-not-paid-again',
    breaks: 'paid once',
    changes: [
      {
        file: 'src/payments/execute/resign.ts',
        now: "({ state }) => state === 'settled' && controller.abort(),",
        before: '() => undefined,',
      },
      {
        file: 'src/payments/execute/resign.ts',
        now: "  if (first.attempt.state === 'settled') {\n",
        before: "  if (first.attempt.id === '') {\n",
      },
    ],
  },
  {
    name: 'unread-is-uncertain',
    breaks: 'errors tell of funds',
    changes: [
      {
        file: 'src/payments/reconcile/find-earlier.ts',
        now: "(await recovery(signal, 'uncertain')).throwUnread(error),",
        before: 'Promise.reject(error),',
      },
    ],
  },
  {
    name: 'signed-steps-are-uncertain',
    breaks: 'errors tell of funds',
    changes: [
      {
        file: 'src/service/signed-step.ts',
        now: 'throw isSigned(request) && isUndecided(request, error) ? undecided(error) : error;',
        before: 'throw error;',
      },
    ],
  },
  {
    name: 'what-swaps-moved-is-told',
    breaks: 'errors tell of funds',
    changes: [
      {
        file: 'src/payments/pay.ts',
        now: '    moved,\n    ...(unpaid',
        before: '    ...(unpaid',
      },
    ],
  },
  {
    name: 'unwritten-is-undone',
    breaks: 'all is decided',
    changes: [
      {
        file: 'src/payments/execute/reservation.ts',
        now: 'if (!isReserved && !isUnwritten) return;',
        before: 'if (!isReserved) return;',
      },
    ],
  },
  {
    name: 'late-takes-are-ended',
    breaks: 'all is decided',
    changes: [
      {
        file: 'src/payments/journal-timeouts.ts',
        now: '      afterPending(id, end);\n      return end();',
        before: '      return end();',
      },
    ],
  },
  {
    name: 'refused-signatures-are-undone',
    breaks: 'spent tells no more',
    changes: [
      {
        file: 'src/payments/pay.ts',
        now: '    await reservation.rollBack(facts.source, error);\n',
        before:
          "    if (!isExactChangeError(error, 'signing_failed')) await reservation.rollBack(facts.source, error);\n",
      },
    ],
  },
  {
    name: 'calls-wait-for-those-that-gave-up',
    breaks: 'paid once',
    changes: [
      {
        file: 'src/payments/execute/release-claim.ts',
        now: '  wallet.releasing.add(settled);\n',
        before: '',
      },
    ],
  },
  {
    name: 'closed-clients-undo',
    breaks: 'all is decided',
    changes: [
      {
        file: 'src/payments/execute/reservation.ts',
        now: '      if (isUnwritten) resumeWithNextCall(context);\n',
        before:
          '      if (context.closing.signal.aborted) return;\n      if (isUnwritten) resumeWithNextCall(context);\n',
      },
    ],
  },
  {
    name: 'a-no-refuses',
    breaks: 'within caps',
    changes: [
      {
        file: 'src/payments/execute/ask-approval.ts',
        now: '  if (answer !== true) throw approvalRefused({});\n',
        before: '  void answer;\n',
      },
    ],
  },
  {
    name: 'swaps-come-from-the-list',
    breaks: 'within caps',
    changes: [
      {
        file: 'src/payments/plan/candidate-queue.ts',
        now: '    swapFrom: context.config.swapFrom,\n',
        before: '    swapFrom: undefined,\n',
      },
    ],
  },
  {
    name: 'inputs-count-by-mint',
    breaks: 'within caps',
    changes: [
      {
        file: 'src/policy/cost.ts',
        now: '  for (const [input, units] of Object.entries(swaps.inputs)) add(input, unitsOf(units));\n',
        before: '',
      },
    ],
  },
  {
    name: 'receipts-show-the-amounts-of-the-chain',
    breaks: 'receipts are true',
    changes: [
      {
        file: 'src/payments/reconcile/swap-end.ts',
        now: 'landed === undefined || inputMint === outputMint ? quoted',
        before: "landed === undefined || inputMint !== '' ? quoted",
      },
    ],
  },
  {
    name: 'kept-bodies-are-not-delivered',
    breaks: 'paid once',
    changes: [
      {
        file: 'src/payments/execute/present.ts',
        now: 'open.isDeliveredHere = (delivered && !isAwaited) || undefined;',
        before: 'open.isDeliveredHere = delivered;',
      },
    ],
  },
];
