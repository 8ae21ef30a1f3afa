import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { blocksOf, GUIDES, readGuide } from '../helpers/guides.js';
import { parse, readText } from './modules.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const PAGES = [
  ...GUIDES,
  'adapters/sandbox/README.md',
  'python/README.md',
  'SECURITY.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
];

/** Returns a page without its code blocks. */
const proseOf = (page: string): string => readGuide(page).replace(/^```.*?^```$/gms, '');

/** Returns the anchors that GitHub gives to the headings of a page. */
function anchorsOf(page: string): string[] {
  const seen = new Map<string, number>();
  return [...proseOf(page).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => {
    const name = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-');
    const times = seen.get(name) ?? 0;
    seen.set(name, times + 1);
    return times === 0 ? name : `${name}-${times}`;
  });
}

/**
 * Returns the error of a link, or undefined if it leads to a file of the repository and to a
 * heading of that file.
 */
function brokenLink(page: string, target: string): string | undefined {
  const [path = '', anchor] = target.split('#');
  const file = path === '' ? page : join(dirname(page), path);
  if (file.startsWith('..') || !existsSync(root + file) || !statSync(root + file).isFile())
    return `${target}: no such file`;
  if (anchor !== undefined && !anchorsOf(file).includes(anchor))
    return `${target}: no such heading`;
  return undefined;
}

describe('pages of the documentation', () => {
  it.each(PAGES)('link only to files and headings that exist: %s', (page) => {
    const targets = [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(
      ([, target = '']) => target,
    );
    const inside = targets.filter((target) => !/^https?:/.test(target));
    expect(
      inside.map((target) => brokenLink(page, target)).filter((problem) => problem !== undefined),
    ).toEqual([]);
  });

  it.each(PAGES)('name only files and folders that exist: %s', (page) => {
    const named = [
      ...proseOf(page).matchAll(
        /`((?:src|adapters|test|scripts|examples|bench|docs|\.ci)\/[\w./-]*)`/g,
      ),
    ];
    expect(named.map(([, path = '']) => path).filter((path) => !existsSync(root + path))).toEqual(
      [],
    );
  });

  it.each(PAGES)('name only scripts of package.json: %s', (page) => {
    const { scripts } = JSON.parse(readText('package.json')) as { scripts: Record<string, string> };
    const named = [...readGuide(page).matchAll(/\bnpm run ([a-z][\w:-]*)/g)].map(
      ([, name = '']) => name,
    );
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
  });

  it('contain code only in languages that a test compiles or runs, or plain text', () => {
    const languages = new Set(
      GUIDES.flatMap((guide) => blocksOf(guide)).map(({ language }) => language),
    );
    expect([...languages].sort()).toEqual(['json', 'py', 'sh', 'text', 'ts']);
  });
});

/** Returns each paragraph and each list item, without headings, comments and tables. */
function statementsIn(text: string): string[] {
  const blocks = text.split(/\n\s*\n|\n(?=- )/).map((block) => block.trim());
  return blocks.filter((block) => block !== '' && !/^(?:#|<!--|\||\[!\[)/.test(block));
}

/** Returns the text of a section, up to the next section. */
function sectionOf(page: string, title: string): string {
  const [, section = ''] = proseOf(page).split(`\n## ${title}\n`);
  return section.split('\n## ')[0] ?? '';
}

const namesATest = (statement: string): boolean =>
  [...statement.matchAll(/[`(](test\/[\w./-]+)[`)]/g)].some(([, path = '']) =>
    existsSync(root + path),
  );

describe('a promise of the documentation', () => {
  it.each([
    ['SECURITY.md', 'What is defended'],
    ['SECURITY.md', 'The swap firewall'],
    ['SECURITY.md', 'The service'],
    ['SECURITY.md', 'Webhooks'],
    ['SECURITY.md', 'Dependencies'],
    ['docs/policy.md', 'What holds by default'],
  ])('names a test in each statement of %s, %s', (page, title) => {
    const statements = statementsIn(sectionOf(page, title)).filter(
      (statement) => !statement.endsWith(':'),
    );
    expect(statements.length).toBeGreaterThan(0);
    expect(statements.filter((statement) => !namesATest(statement))).toEqual([]);
  });

  it('names a test for each distrusted party in SECURITY.md', () => {
    const [, , ...rows] = sectionOf('SECURITY.md', 'What is trusted').trim().split('\n');
    const distrusted = rows.filter((row) => row.split('|')[3]?.trim() !== '');
    expect(distrusted).toHaveLength(5);
    expect(distrusted.filter((row) => !namesATest(row))).toEqual([]);
  });

  it('names a test in each promising sentence of README', () => {
    const promising = statementsIn(proseOf('README.md')).filter((statement) =>
      /\b(?:never|nothing|at most|no|neither|survive|each error)\b/i.test(statement),
    );
    expect(promising.length).toBeGreaterThan(5);
    expect(promising.filter((statement) => !namesATest(statement))).toEqual([]);
  });
});

describe('README', () => {
  it('is short', () => {
    expect(Buffer.byteLength(readText('README.md'))).toBeLessThanOrEqual(9_000);
  });

  it('links every guide', () => {
    const missing = GUIDES.filter(
      (guide) => guide !== 'README.md' && !readText('README.md').includes(`](${guide}`),
    );
    expect(missing).toEqual([]);
  });

  it('names the two commands for a fresh clone', () => {
    const lines = blocksOf('README.md')
      .filter(({ language }) => language === 'sh')
      .flatMap(({ code }) => code.trim().split('\n'));
    expect(lines.map((line) => line.replace(/ +#.*/, ''))).toEqual(
      expect.arrayContaining(['npm ci && npm run demo', 'npm ci && npm test']),
    );
  });
});

/** Returns the names of the members of an interface. */
function membersOf(path: string, name: string): string[] {
  const found: string[] = [];
  for (const statement of parse(path, readText(path)).statements) {
    if (!ts.isInterfaceDeclaration(statement) || statement.name.text !== name) continue;
    for (const { name: member } of statement.members) {
      if (member !== undefined && (ts.isIdentifier(member) || ts.isStringLiteral(member)))
        found.push(member.text);
    }
  }
  return found;
}

/** Returns the rows of all tables of a page. */
const tablesOf = (page: string): string =>
  readText(page)
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .join('\n');

it.each([
  ['src/config/options.ts', 'ClientOptions', 'docs/getting-started.md'],
  ['src/config/options.ts', 'Timeouts', 'docs/getting-started.md'],
  ['src/interceptor.ts', 'InterceptorOptions', 'docs/getting-started.md'],
  ['src/client.ts', 'Client', 'docs/getting-started.md'],
  ['src/policy/policy.ts', 'PolicyOptions', 'docs/policy.md'],
  ['src/policy/limits.ts', 'LimitOptions', 'docs/policy.md'],
  ['src/policy/lists.ts', 'ListOptions', 'docs/policy.md'],
  ['src/events.ts', 'EventDetails', 'docs/receipts-and-events.md'],
  ['src/receipt.ts', 'Receipt', 'docs/receipts-and-events.md'],
  ['src/receipt.ts', 'FreedReceipt', 'docs/journals-and-recovery.md'],
  ['adapters/http/options.ts', 'HandlerOptions', 'docs/service.md'],
  ['adapters/webhooks/options.ts', 'WebhooksOptions', 'docs/webhooks.md'],
  ['src/outbox/outbox.ts', 'WebhookDetails', 'docs/webhooks.md'],
  ['adapters/ai/tools.ts', 'ToolOptions', 'docs/mcp.md'],
  ['adapters/sandbox/index.ts', 'Sandbox', 'docs/sandbox.md'],
  ['adapters/sandbox/index.ts', 'SandboxOptions', 'docs/sandbox.md'],
  ['adapters/sandbox/node/index.ts', 'NodeOptions', 'docs/sandbox.md'],
])('lists each member of %s %s in a table of %s', (path, name, page) => {
  const members = membersOf(path, name);
  expect(members).not.toEqual([]);
  const tables = tablesOf(page);
  expect(
    members.filter(
      (member) => !new RegExp(`\`(?:client\\.)?${member.replace('.', '\\.')}\\b`).test(tables),
    ),
  ).toEqual([]);
});
