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

/** A page without its code blocks. */
const proseOf = (page: string): string => readGuide(page).replace(/^```.*?^```$/gms, '');

/** The names that GitHub gives to the headings of a page. */
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
 * What is wrong with a link of a page; undefined if it leads to a file of the repository, and to a
 * heading of it.
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

describe('the pages of the documentation', () => {
  it.each(PAGES)('%s links to files and headings that exist', (page) => {
    const targets = [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(
      ([, target = '']) => target,
    );
    const inside = targets.filter((target) => !/^https?:/.test(target));
    expect(
      inside.map((target) => brokenLink(page, target)).filter((one) => one !== undefined),
    ).toEqual([]);
  });

  it.each(PAGES)('%s names files and folders that exist', (page) => {
    const named = [
      ...proseOf(page).matchAll(
        /`((?:src|adapters|test|scripts|examples|bench|docs|\.ci)\/[\w./-]*)`/g,
      ),
    ];
    expect(named.map(([, path = '']) => path).filter((path) => !existsSync(root + path))).toEqual(
      [],
    );
  });

  it.each(PAGES)('%s names scripts that package.json has', (page) => {
    const { scripts } = JSON.parse(readText('package.json')) as { scripts: Record<string, string> };
    const named = [...readGuide(page).matchAll(/\bnpm run ([a-z][\w:-]*)/g)].map(
      ([, name = '']) => name,
    );
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
  });

  it('holds only code in languages that a test compiles or runs, or plain text', () => {
    const languages = new Set(
      GUIDES.flatMap((guide) => blocksOf(guide)).map(({ language }) => language),
    );
    expect([...languages].sort()).toEqual(['json', 'py', 'sh', 'text', 'ts']);
  });
});

/** Each paragraph and each item of a list, without headings, comments and tables. */
function statementsIn(text: string): string[] {
  const blocks = text.split(/\n\s*\n|\n(?=- )/).map((block) => block.trim());
  return blocks.filter((block) => block !== '' && !/^(?:#|<!--|\||\[!\[)/.test(block));
}

/** A section of a page, whatever follows it. */
function sectionOf(page: string, title: string): string {
  const [, section = ''] = proseOf(page).split(`\n## ${title}\n`);
  return section.split('\n## ')[0] ?? '';
}

const namesATest = (statement: string): boolean =>
  [...statement.matchAll(/[`(](test\/[\w./-]+)[`)]/g)].some(([, path = '']) =>
    existsSync(root + path),
  );

describe('a promise names a test that shows it', () => {
  it.each([
    ['SECURITY.md', 'What is defended'],
    ['SECURITY.md', 'The swap firewall'],
    ['SECURITY.md', 'The service'],
    ['SECURITY.md', 'Webhooks'],
    ['SECURITY.md', 'Dependencies'],
    ['docs/policy.md', 'Safe by default'],
  ])('in %s, %s', (page, title) => {
    const statements = statementsIn(sectionOf(page, title)).filter(
      (statement) => !statement.endsWith(':'),
    );
    expect(statements.length).toBeGreaterThan(0);
    expect(statements.filter((statement) => !namesATest(statement))).toEqual([]);
  });

  it('in SECURITY.md, of each party what it is not trusted with', () => {
    const [, , ...rows] = sectionOf('SECURITY.md', 'What is trusted').trim().split('\n');
    const distrusted = rows.filter((row) => row.split('|')[3]?.trim() !== '');
    expect(distrusted).toHaveLength(4);
    expect(distrusted.filter((row) => !namesATest(row))).toEqual([]);
  });

  it('in README, by what a sentence says', () => {
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

  it('leads to every guide', () => {
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

/** The members of an interface. */
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

/** The rows of all tables of a page. */
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
  ['adapters/sandbox/index.ts', 'Sandbox', 'docs/sandbox.md'],
  ['adapters/sandbox/index.ts', 'SandboxOptions', 'docs/sandbox.md'],
  ['adapters/sandbox/node/index.ts', 'NodeOptions', 'docs/sandbox.md'],
])('each member of %s %s is in a table of %s', (path, name, page) => {
  const members = membersOf(path, name);
  expect(members).not.toEqual([]);
  const tables = tablesOf(page);
  expect(
    members.filter(
      (member) => !new RegExp(`\`(?:client\\.)?${member.replace('.', '\\.')}\\b`).test(tables),
    ),
  ).toEqual([]);
});
