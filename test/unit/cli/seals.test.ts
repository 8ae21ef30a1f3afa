import { describe, expect, it } from 'vitest';
import type { Order } from '../../../adapters/cli/mcp/approval.js';
import { createSeals } from '../../../adapters/cli/mcp/seals.js';

const order: Order = {
  ...{ kind: 'payment', what: 'GET api.example.com', mint: 'm', payTo: 'p' },
  ...{ amount: '10000', usd: '0.01' },
};

describe('a sealed order', () => {
  it('opens once, and only for the call that it was sealed for', () => {
    const seals = createSeals(() => 0);
    const state = seals.seal(order, 'a call');
    expect(seals.open(state, 'another call')).toBeUndefined();
    expect(seals.open(state, 'a call')).toEqual(order);
    expect(seals.open(state, 'a call')).toBeUndefined();
  });

  it('stays closed after ten minutes, in another process, or when it was changed', () => {
    let now = 0;
    const seals = createSeals(() => now);
    const state = seals.seal(order, 'a call');
    expect(createSeals(() => now).open(state, 'a call')).toBeUndefined();
    const [, tag = ''] = state.split('.');
    const dearer = Buffer.from(
      JSON.stringify({ order: { ...order, amount: '9' }, call: 'a call', nonce: 'n', until: 9 }),
    ).toString('base64url');
    for (const forged of [`${dearer}.${tag}`, dearer, `${dearer}.`, '', '.', 'a.b.c'])
      expect(seals.open(forged, 'a call')).toBeUndefined();
    now = 10 * 60_000 + 1;
    expect(seals.open(state, 'a call')).toBeUndefined();
  });
});
