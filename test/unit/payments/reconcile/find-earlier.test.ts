import { afterEach, describe, expect, it, vi } from 'vitest';
import { fingerprintOf } from '../../../../src/payments/reconcile/find-earlier.js';

describe('the fingerprint of a form', () => {
  afterEach(() => void vi.unstubAllGlobals());

  const fingerprint = () =>
    fingerprintOf(
      {
        method: 'POST',
        url: 'https://api.example.com/upload',
        header: () => 'multipart/form-data; boundary=ab',
      },
      Uint8Array.from([...new TextEncoder().encode('--ab\r\n'), 0x80]),
    );

  it('is the same if the runtime decodes latin1 as Latin-1 or as windows-1252', () => {
    const decoded = ['\u0080', '€'].map((character) => {
      vi.stubGlobal('TextDecoder', decoderWith(character));
      return fingerprint();
    });
    expect(new Set(decoded).size).toBe(1);
  });
});

/** A class of decoders that turn the byte 0x80 of `latin1` into a character. */
function decoderWith(character: string): typeof TextDecoder {
  return class extends TextDecoder {
    override decode(...args: Parameters<TextDecoder['decode']>): string {
      const text = super.decode(...args);
      return this.encoding === 'windows-1252' ? text.replace(/[\u0080€]/, character) : text;
    }
  };
}
