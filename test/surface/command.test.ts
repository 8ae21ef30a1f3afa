import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { envVariables } from '../../adapters/cli/environment.js';
import { buildProgram } from '../../adapters/cli/program.js';
import { blocksOf, GUIDES, readGuide } from '../helpers/guides.js';

/** Arguments of `exact-change` in the shell blocks of the guides. */
const lines = GUIDES.flatMap((guide) => blocksOf(guide))
  .filter(({ language }) => language === 'sh')
  .flatMap(({ code }) => code.replaceAll('\\\n', ' ').split('\n'))
  .flatMap((line) => /(?:^|\| |npx )exact-change (.*)$/.exec(line)?.[1] ?? []);

const wordsOf = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');

it('accepts every call of the command that the documentation shows', async () => {
  expect(lines.length).toBeGreaterThan(7);
  const run: string[] = [];
  for (const line of lines) {
    const program = quietProgram(run);
    const [words = ''] = line.split(' > ');
    await expect(program.parseAsync(wordsOf(words), { from: 'user' }), line).resolves.toBe(program);
  }
  expect(run).toHaveLength(lines.length);
});

it.each(['0,1', '-5', '0', '0.0', '.5', '1e3'])('names --amount when it is %s', async (amount) => {
  const run: string[] = [];
  const words = ['quote', 'SOL', 'USDC', `--amount=${amount}`];
  await expect(quietProgram(run).parseAsync(words, { from: 'user' })).rejects.toThrow(
    `option '--amount <amount>' argument '${amount}' is invalid. It must be an amount such as`,
  );
  expect(run).toEqual([]);
});

function quietProgram(run: string[]): Command {
  const program = buildProgram(async (_, { args }) => void run.push(args.join(' ')));
  for (const command of everyCommand(program))
    command.exitOverride().configureOutput({ writeErr: () => undefined });
  return program;
}

function everyCommand(program: Command): Command[] {
  return [program, ...program.commands.flatMap(everyCommand)];
}

it('documents each variable of the command in its guide', () => {
  const guide = readGuide('docs/cli.md');
  expect(envVariables.filter((name) => !guide.includes(`\`${name}\``))).toEqual([]);
});
