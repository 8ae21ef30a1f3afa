import { createHash } from 'node:crypto';

/**
 * Random numbers from a seed. A fork has its own stream, so that draws of a part of the run do not
 * affect other parts.
 */
export interface Random {
  /** From 0 to 1, without 1. */
  next(): number;
  /** Returns a whole number; both bounds are included. */
  int(from: number, to: number): number;
  chance(share: number): boolean;
  pick<T>(list: readonly T[]): T;
  bytes(length: number): Uint8Array;
  fork(name: string): Random;
}

/** Makes an sfc32 generator, seeded with a hash of the name. */
export function createRandom(name: string): Random {
  const digest = createHash('sha256').update(name).digest();
  let [a, b, c, d] = [0, 4, 8, 12].map((at) => digest.readUInt32LE(at)) as [
    number,
    number,
    number,
    number,
  ];
  const word = (): number => {
    const sum = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum >>> 0;
  };
  for (let round = 0; round < 12; round += 1) word();
  const next = (): number => word() / 2 ** 32;
  const int = (from: number, to: number): number => from + Math.floor(next() * (to - from + 1));
  return {
    next,
    int,
    chance: (share) => next() < share,
    pick(list) {
      const picked = list[int(0, list.length - 1)];
      if (picked === undefined) throw new RangeError('There is nothing to pick from.');
      return picked;
    },
    bytes: (length) => Uint8Array.from({ length }, () => word() & 0xff),
    fork: (part) => createRandom(`${name}/${part}`),
  };
}
