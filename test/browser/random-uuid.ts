import { hex } from '../../src/internal/bytes.js';

/** Replaces `node:crypto` for the contracts in a page; works without a secure context too. */
export const randomUUID = () => hex.encode(crypto.getRandomValues(new Uint8Array(16)));
