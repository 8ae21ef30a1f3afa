import { afterEach, describe, expect, it, vi } from 'vitest';
import { uncached } from '../../../src/internal/own-request.js';

afterEach(() => vi.unstubAllGlobals());

describe('a request of the library itself', () => {
  it('asks for an answer of no cache', () => {
    expect(uncached()).toEqual({ cache: 'no-store' });
  });

  it.each([
    ['that throws at the field', Object],
    ['without Request, as Node 16', undefined],
  ])('names no cache in a runtime %s', (_, Request) => {
    vi.stubGlobal('Request', Request);
    expect({ ...uncached() }).toEqual({});
  });
});
