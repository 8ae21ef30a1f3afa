import { ceilDiv, formatUiAmount, parseAmount, parseUiAmount } from '../../../src/amount.js';
import { BAD_TEXTS, GOOD_AMOUNTS } from '../../../test/fixtures/amounts.js';
import { createRandom } from '../../../test/simulation/random.js';

const UI = [
  '0',
  '1',
  '0.25',
  '1.50',
  '0.000001',
  '10.000000',
  '0.0000001',
  '18446744073709.551615',
];
const BAD_UI = ['', '.5', '5.', '01', '1e3', '-1', '+1', '1_0', ' 1', '1 ', '1.0.0', '٣', '１.0'];

export function amounts(): unknown[] {
  const random = createRandom('spec/amounts');
  const drawn = Array.from({ length: 40 }, (): [bigint, number] => [
    BigInt(random.int(0, 2 ** 40)) * BigInt(random.int(0, 2 ** 24)),
    random.int(0, 18),
  ]);
  const texts = [...GOOD_AMOUNTS.map(([text]) => text), ...BAD_TEXTS];
  return [
    ...texts.map((text) => ({ of: 'parseAmount', in: text, out: parseAmount(text) ?? null })),
    ...[...UI, ...BAD_UI, ...BAD_TEXTS].map((text) => ({
      ...{ of: 'parseUiAmount', in: text, decimals: 6 },
      out: parseUiAmount(text, 6) ?? null,
    })),
    ...drawn.map(([amount, decimals]) => ({
      ...{ of: 'formatUiAmount', in: amount, decimals },
      out: formatUiAmount(amount, decimals),
    })),
    ...drawn.map(([amount, divisor]) => ({
      ...{ of: 'ceilDiv', in: amount, by: divisor + 1 },
      out: ceilDiv(amount, BigInt(divisor + 1)),
    })),
  ];
}
