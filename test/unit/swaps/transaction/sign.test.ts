import { ed25519 } from '@noble/curves/ed25519';
import { getAddressDecoder, getTransactionDecoder } from '@solana/kit';
import { describe, expect, it } from 'vitest';
import type { MessageSigner } from '../../../../src/solana/signer.js';
import { transferLamports } from '../../../../src/solana/transactions/swap-instructions.js';
import { compileMessage } from '../../../../src/solana/transactions/compile.js';
import { signMessage } from '../../../../src/swaps/transaction/sign.js';
import { BLOCKHASH, STRANGER } from '../support.js';

const secret = new Uint8Array(32).fill(9);
const address = getAddressDecoder().decode(ed25519.getPublicKey(secret));
const intent = {
  kind: 'swap',
  network: 'n',
  inputMint: 'a',
  maxInAmount: '1',
  outputMint: 'b',
  minOutAmount: '1',
} as const;
const messageFor = (feePayer: string, from = feePayer) =>
  compileMessage({
    feePayer,
    instructions: [transferLamports({ from, to: STRANGER, lamports: 1n })],
    blockhash: BLOCKHASH,
  });
const signer = (sign: MessageSigner['signMessage']): MessageSigner => ({
  address,
  signMessage: sign,
});
const honest = signer(async (message) => ed25519.sign(message, secret));

describe('signMessage', () => {
  it('returns wire bytes that any reader can verify', async () => {
    const message = messageFor(address);
    const { bytes, signature } = await signMessage(honest, message, intent);
    const decoded = getTransactionDecoder().decode(bytes);
    expect(new Uint8Array(decoded.messageBytes)).toEqual(message);
    expect(
      ed25519.verify(
        decoded.signatures[address] ?? new Uint8Array(64),
        message,
        ed25519.getPublicKey(secret),
      ),
    ).toBe(true);
    expect(signature).toMatch(/^[1-9A-HJ-NP-Za-km-z]{80,88}$/);
  });

  it('keeps its own bytes when the signer writes into its copy', async () => {
    const message = messageFor(address);
    const before = message.slice();
    const meddler = signer(async (copy) => {
      const signature = ed25519.sign(copy, secret);
      copy.fill(0);
      return signature;
    });
    await signMessage(meddler, message, intent);
    expect(message).toEqual(before);
  });

  it.each<[string, MessageSigner['signMessage']]>([
    ['refuses', () => Promise.reject(new Error('no'))],
    ['signs something else', async (message) => ed25519.sign(message.slice(1), secret)],
    [
      'signs with another key',
      async (message) => ed25519.sign(message, new Uint8Array(32).fill(8)),
    ],
    ['answers 63 bytes', async (message) => ed25519.sign(message, secret).slice(1)],
    ['answers nothing', async () => new Uint8Array()],
  ])('rejects with signing_failed when the signer %s', async (_, sign) => {
    await expect(signMessage(signer(sign), messageFor(address), intent)).rejects.toMatchObject({
      code: 'signing_failed',
      details: { address },
      funds: 'untouched',
    });
  });

  it('asks no signer for a message of another wallet', async () => {
    const never = signer(() => Promise.reject(new Error('was asked')));
    await expect(signMessage(never, messageFor(STRANGER), intent)).rejects.toMatchObject({
      code: 'self_check_failed',
    });
    await expect(signMessage(never, messageFor(address, STRANGER), intent)).rejects.toMatchObject({
      code: 'self_check_failed',
    });
  });
});
