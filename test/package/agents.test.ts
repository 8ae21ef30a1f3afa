import { expect, it } from 'vitest';
import { runExample } from '../helpers/example.js';

it('lets agents sell, broker and buy over HTTP and MCP, as the chain confirms', async () => {
  const [run, broken] = await Promise.all([
    runExample('agents/start'),
    runExample('agents/start', '--without-facilitator'),
  ]);
  expect({ code: run.code, stderr: run.stderr }).toEqual({ code: 0, stderr: '' });
  expect(run.stdout).toContain('over HTTP: A brief: a fact on salt.');
  expect(run.stdout).toContain('over MCP:  A brief: a fact on pepper.');
  const rows = [...run.stdout.matchAll(/^(seller|broker|buyer) +([\d.-]+(?: +[\d.-]+){5})$/gm)];
  expect(rows.map(([, name, cells = '']) => [name, ...cells.split(/ +/)])).toEqual([
    ['seller', '0', '0', '0.04', '0', '0.04', '0.04'],
    ['broker', '0.1', '0', '0.05', '-0.04', '0.11', '0.11'],
    ['buyer', '0', '0.05', '0', '-0.05', '0', '0'],
  ]);
  expect(broken.code).toBe(1);
});
