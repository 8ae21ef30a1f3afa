import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { points } from './points.js';

const allPoints = Object.values(points).flat();

it('has more than 40 kill points with unique names', () => {
  expect(
    new Set(allPoints.flatMap(({ kills }) => kills.map(({ step, edge }) => `${step} ${edge}`)))
      .size,
  ).toBeGreaterThan(40);
  expect(new Set(allPoints.map(({ name }) => name)).size).toBe(allPoints.length);
});

it('has a test file for each group of kill points', () => {
  const missing = Object.keys(points).filter(
    (group) => !existsSync(new URL(`./${group}.test.ts`, import.meta.url)),
  );
  expect(missing).toEqual([]);
});
