import { hex } from '../../src/internal/bytes.js';

/** What the contracts take of `node:crypto`, in a page: also in one that is not secure. */
export const randomUUID = () => hex.encode(crypto.getRandomValues(new Uint8Array(16)));
