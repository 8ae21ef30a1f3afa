export const ED25519 = { name: 'Ed25519' };

/**
 * Returns WebCrypto, unless its Ed25519 prints a warning: Node's did until 20.20, 22.13 and 23.5.
 * It is missing before Node 19 and in insecure pages.
 */
export function quietSubtle(): SubtleCrypto | undefined {
  // The types promise `crypto` and `process` everywhere, but some runtimes lack them.
  const { crypto, process } = globalThis as {
    crypto?: Partial<Crypto>;
    process?: { versions?: { node?: string } };
  };
  const node = process?.versions?.node;
  const [major = NaN, minor = NaN] = (node ?? '').split('.').map(Number);
  const firstQuiet: Readonly<Record<number, number>> = { 20: 20, 22: 13, 23: 5 };
  if (node !== undefined && major < 24 && !(minor >= (firstQuiet[major] ?? Infinity)))
    return undefined;
  return crypto?.subtle;
}
