import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
export const SITE = join(root, 'docs/site');
const PAGES = join(SITE, 'pages');

/** Matches code in Markdown, which is skipped, or a link to a file of the repository. */
const LINK = /(```[^]*?```|`[^`\n]*`)|\]\((?![a-z]+:|#)([^)#\s]+)(#[^)]*)?\)/g;

/**
 * Writes the pages of the site to a separate folder, in the tree of the repository: the guides, the
 * examples, and each file that a page links to. A source file becomes a page with its code.
 */
export function gatherPages(): readonly string[] {
  rmSync(PAGES, { recursive: true, force: true });
  const guides = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'));
  const examples = readdirSync(join(root, 'examples'), { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.ts'));
  const waiting = [
    'README.md',
    ...guides.map((name) => `docs/${name}`),
    ...examples.map((name) => `examples/${name}`),
  ];
  const known = new Set(waiting);
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    const { text, links } = pageOf(path);
    write(pathOf(path), text);
    for (const link of links) {
      if (known.has(link)) continue;
      known.add(link);
      waiting.push(link);
    }
  }
  write('examples/index.md', listOf(examples));
  write('how-a-payment-works.md', readFileSync(join(SITE, 'how-a-payment-works.md'), 'utf8'));
  return [...known];
}

/** Returns the path of a file's page. */
function pathOf(path: string): string {
  if (path === 'README.md') return 'index.md';
  return path.endsWith('.md') ? path : `${path}.md`;
}

function pageOf(path: string): { readonly text: string; readonly links: readonly string[] } {
  const text = readFileSync(join(root, path), 'utf8');
  if (!path.endsWith('.md')) return { text: codePage(path, text), links: [] };
  const links: string[] = [];
  const from = posix.dirname(path);
  const shown = text.replace(LINK, (whole, code?: string, to: string = '', hash: string = '') => {
    if (code !== undefined) return whole;
    const file = posix.join(from, to);
    links.push(file);
    return `](${posix.relative(from, pathOf(file)) || posix.basename(pathOf(file))}${hash})`;
  });
  return { text: shown, links };
}

function codePage(path: string, text: string): string {
  const language = path.endsWith('.ts') ? 'ts' : 'text';
  return `---\nsearch: false\n---\n\n# ${path}\n\n\`\`\`\`${language}\n${text}\`\`\`\`\n`;
}

function listOf(examples: readonly string[]): string {
  const lines = examples.map((name) => {
    const [first = ''] = readFileSync(join(root, 'examples', name), 'utf8').split('\n');
    const says = /^\/\/ (.*)$/.exec(first)?.[1] ?? '';
    return `- [${name}](${name}.md)${says && `: ${says.replaceAll('`', '\\`')}`}`;
  });
  return `# Examples\n\nEach runs in CI, against [the sandbox](../docs/sandbox.md).\n\n${lines.join('\n')}\n`;
}

function write(path: string, text: string): void {
  const place = join(PAGES, path);
  mkdirSync(dirname(place), { recursive: true });
  writeFileSync(place, text);
}
