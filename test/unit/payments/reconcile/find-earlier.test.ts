import { afterEach, expect, it, vi } from 'vitest';
import { fingerprintOf } from '../../../../src/payments/reconcile/find-earlier.js';

afterEach(() => vi.unstubAllGlobals());

it('fingerprints the bytes of a form alike in runtimes that decode Latin-1 in two ways', () => {
  const headers = new Headers({ 'content-type': 'multipart/form-data; boundary=ab' });
  const body = Uint8Array.of(0x2d, 0x61, 0x62, 0x80, 0xe9);
  const print = () => fingerprintOf({ method: 'POST', url: 'https://h.example/u', headers }, body);
  // One runtime reads 0x80 as U+0080, and another as the sign of the euro.
  const prints = ['-ab\u0080é', '-ab\u20acé'].map((text) => {
    vi.stubGlobal(
      'TextDecoder',
      class {
        decode = () => text;
      },
    );
    return print();
  });
  expect(new Set(prints).size).toBe(1);
});
