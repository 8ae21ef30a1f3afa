import { afterEach, describe, expect, it, vi } from 'vitest';
import { markOwnRequest, uncached } from '../../../src/internal/own-request.js';

afterEach(() => vi.unstubAllGlobals());

describe('a request of the library itself', () => {
  it('asks for an answer of no cache', () => {
    expect(markOwnRequest({ method: 'POST' })).toMatchObject({ method: 'POST', cache: 'no-store' });
  });

  it('names no cache in a runtime that throws at the field', () => {
    vi.stubGlobal('Request', { prototype: {} });
    expect({ ...uncached() }).toEqual({});
    expect(markOwnRequest({ method: 'POST' })).not.toHaveProperty('cache');
  });
});
