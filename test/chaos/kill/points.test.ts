import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { points } from './points.js';

const all = Object.values(points).flat();

it('has more than 40 points to be killed at, each under a name of its own', () => {
  expect(
    new Set(all.flatMap(({ kills }) => kills.map(({ step, edge }) => `${step} ${edge}`))).size,
  ).toBeGreaterThan(40);
  expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
});

it('has a file of tests for each group', () => {
  const missing = Object.keys(points).filter(
    (group) => !existsSync(new URL(`./${group}.test.ts`, import.meta.url)),
  );
  expect(missing).toEqual([]);
});
