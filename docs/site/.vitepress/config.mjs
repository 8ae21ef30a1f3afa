import { readdirSync, readFileSync } from 'node:fs';
import { URL } from 'node:url';
import { defineConfig } from 'vitepress';

const pages = new URL('../pages/', import.meta.url);
const titleOf = (path) => /^# (.+)$/m.exec(readFileSync(new URL(path, pages), 'utf8'))?.[1] ?? path;
const entry = (path) => ({ text: titleOf(path), link: `/${path.replace(/\.md$/, '')}` });

const FIRST = ['getting-started.md', 'cli.md', 'mcp.md', 'policy.md', 'swaps.md', 'wallets.md'];
const guides = readdirSync(new URL('docs/', pages));
const order = [...FIRST, ...guides.filter((name) => !FIRST.includes(name)).sort()];

/** As the links of the guides have it: that of GitHub. */
const slugify = (text) =>
  text
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');

export default defineConfig({
  title: 'Exact Change',
  description: 'A fetch() that pays.',
  srcDir: 'pages',
  markdown: { anchor: { slugify } },
  // Of its own files alone: also fonts.
  themeConfig: {
    search: { provider: 'local' },
    outline: { level: [2, 3] },
    sidebar: [
      {
        text: 'Start',
        items: [
          { text: 'Exact Change', link: '/' },
          { text: 'How a payment works', link: '/how-a-payment-works' },
          { text: 'Examples', link: '/examples/' },
        ],
      },
      { text: 'Guides', items: order.map((name) => entry(`docs/${name}`)) },
      {
        text: 'The project',
        items: ['SECURITY.md', 'CONTRIBUTING.md', 'CHANGELOG.md'].map((name) => entry(name)),
      },
    ],
  },
});
