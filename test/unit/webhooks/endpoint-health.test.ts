import { expect, it } from 'vitest';
import { isAcceptanceStale, markDisabled } from '../../../adapters/webhooks/endpoint-health.js';
import type { Endpoint } from '../../../src/outbox/outbox.js';

const HOUR_MS = 3_600_000;
const NOW = 1_800_000_000_000;

const endpoint: Endpoint = {
  ...{ id: 'we_1', url: 'https://hooks.example.com/', events: ['payment.failed'], caller: '' },
  ...{ secrets: [{ secret: 'whsec_' }], createdAt: 0, acceptedAt: NOW },
};

it.each([
  [70, undefined],
  [71.9, undefined],
  [74, 'disabled'],
])('an endpoint that accepted an event %s hours ago becomes %s', (hours, state) => {
  const now = NOW + hours * HOUR_MS;
  const changed = markDisabled(endpoint, now, false)(endpoint);
  expect(changed).toEqual(state && { ...endpoint, disabledAt: now });
});

it('counts an acceptance that came too soon after another to be recorded', () => {
  const again = NOW + 0.9 * HOUR_MS;
  expect(isAcceptanceStale(endpoint, again)).toBe(false);
  expect(markDisabled(endpoint, again + 71.9 * HOUR_MS, false)(endpoint)).toBeUndefined();
});
