import { readdirSync, readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { format } from 'prettier';
import { describe, expect, it } from 'vitest';
import { stageTexts } from '../../scripts/firewall-stages.js';
import { documents, withTables } from '../../scripts/tables.js';
import { firewallRules, ruleTexts } from '../../src/swaps/firewall/catalog.js';
import { swapDecoders } from '../../src/swaps/sources.js';

const at = (path: string) => new URL(`../../${path}`, import.meta.url);

it.each(documents)('%s has up-to-date tables from the code', async (document) => {
  const text = await readFile(at(document), 'utf8');
  const anew = await format(withTables(document, text), {
    parser: 'markdown',
    printWidth: 100,
    singleQuote: true,
    // The code in them has no tables, and is checked with all files.
    embeddedLanguageFormatting: 'off',
  });
  expect(anew).toBe(text);
});

describe('the rules of the firewall', () => {
  const rules = ruleTexts(firewallRules(swapDecoders));

  it.each(rules.map(({ stage, rule: { id } }) => [id, stage] as const))(
    'name %s in a test that proves the stage %s',
    (id, stage) => {
      const texts = stageTexts[stage].provedBy.map(textOf);
      expect(texts.some((text) => new RegExp(`\\b${id}\\b`).test(text))).toBe(true);
    },
  );

  it('have unique ids, and texts that fit the sentences around them', () => {
    const ids = rules.map(({ rule }) => rule.id);
    expect(new Set(ids).size).toBe(ids.length);
    const odd = rules.filter(
      ({ rule: { id, refuses, why } }) =>
        !/^[a-z0-9_]+$/.test(id) ||
        !/^[^A-Z|][^|]*[^.|]$/.test(refuses) ||
        !/^[A-Z][^|]*\.$/.test(why),
    );
    expect(odd).toEqual([]);
  });
});

/** Returns the text of a file, or of all files of a folder. */
function textOf(path: string): string {
  const paths = statSync(at(path)).isDirectory()
    ? readdirSync(at(path)).map((name) => `${path}/${name}`)
    : [path];
  return paths.map((file) => readFileSync(at(file), 'utf8')).join('\n');
}
