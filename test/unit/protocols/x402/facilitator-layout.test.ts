import { describe, expect, it } from 'vitest';
import type { Offer } from '../../../../src/protocols/types.js';
import { refusesForm } from '../../../../src/protocols/x402/facilitator-layout.js';
import { LIGHTHOUSE_PROGRAM } from '../../../../src/solana/transactions/lighthouse.js';
import { compileMessage } from '../../../../src/solana/transactions/compile.js';
import {
  computeUnitLimit,
  computeUnitPrice,
  memo,
  transferChecked,
} from '../../../../src/solana/transactions/instructions.js';
import { TOKEN_PROGRAM } from '../../../../src/network.js';
import { BLOCKHASH, DESTINATION, SOURCE, STRANGER, USDC, WALLET } from '../../swaps/support.js';

const guard = { program: LIGHTHOUSE_PROGRAM, accounts: [], data: Uint8Array.of(15, 0) };
const guards = (count: number) => Array.from({ length: count }, () => guard);
const transfer = transferChecked({
  ...{ source: SOURCE, mint: USDC, destination: DESTINATION, authority: WALLET },
  ...{ amount: 1n, decimals: 6, tokenProgram: TOKEN_PROGRAM },
});

/** A payment with this many guards before and after its transfer. */
function form(where: {
  readonly before?: number;
  readonly after?: number;
  readonly memo: boolean;
}) {
  return compileMessage({
    feePayer: STRANGER,
    blockhash: BLOCKHASH,
    instructions: [
      ...[computeUnitLimit(20_000), computeUnitPrice(1n)],
      ...guards(where.before ?? 0),
      transfer,
      ...(where.memo ? [memo('ab')] : []),
      ...guards(where.after ?? 0),
    ],
  });
}

type Kind = Pick<Offer, 'x402Version' | 'takesMemo' | 'memo'>;
const V2: Kind = { x402Version: 2, takesMemo: true };
const YOUNGER_V1: Kind = { x402Version: 1, takesMemo: true };
const MEMO_V1: Kind = { x402Version: 1, takesMemo: false, memo: 'ab' };
const OLDEST: Kind = { x402Version: 1, takesMemo: false };

const refuses = (kind: Kind, where: Parameters<typeof form>[0]) =>
  // The check reads no other field of an offer.
  refusesForm(kind as Offer, form(where)) !== undefined;

describe('the form of a payment at official facilitators, as measured', () => {
  it.each([
    [V2, { memo: true, after: 1 }, false],
    [V2, { memo: true, after: 3 }, false],
    [V2, { memo: true, after: 4 }, true],
    [V2, { memo: false, after: 4 }, false],
    [V2, { memo: true, before: 1 }, true],
    [V2, { memo: true, before: 3, after: 1 }, true],
    [YOUNGER_V1, { memo: true, after: 2 }, false],
    [YOUNGER_V1, { memo: true, after: 3 }, true],
    [YOUNGER_V1, { memo: true, before: 1 }, true],
    [MEMO_V1, { memo: true, after: 2 }, false],
    [OLDEST, { memo: false }, false],
    [OLDEST, { memo: false, after: 1 }, true],
  ])('is refused for the offer %o with the guards %o: %s', (kind, where, refused) => {
    expect(refuses(kind, where)).toBe(refused);
  });
});
