import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Returns the broken links of a built site, and the resources that it loads from other sites. */
export function brokenLinks(site: string): readonly string[] {
  const pages = readdirSync(site, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.html'),
  );
  const texts = new Map(
    pages.map((name) => [join(site, name), readFileSync(join(site, name), 'utf8')]),
  );
  return [...texts].flatMap(([path, text]) => {
    const links = [...text.matchAll(/<a [^>]*?href="([^"]+)"/g)].map(([, href = '']) => href);
    const broken = links.filter((href) => !leadsSomewhere(href, path, site, texts));
    const loads = [...text.matchAll(/<(?:script|link|img)[^>]*?(?:src|href)="(https?:[^"]+)"/g)];
    return [...broken, ...loads.map(([, url = '']) => url)].map((link) => `${path}: ${link}`);
  });
}

function leadsSomewhere(
  href: string,
  from: string,
  site: string,
  texts: ReadonlyMap<string, string>,
): boolean {
  if (/^(https?|mailto|solana):/.test(href)) return true;
  const [path = '', hash] = href.replaceAll('&amp;', '&').split('#');
  const target =
    path === '' ? from : path.startsWith('/') ? join(site, path) : join(dirname(from), path);
  const page = [target, `${target}.html`, join(target, 'index.html')].find((file) =>
    texts.has(file),
  );
  if (page === undefined) return existsSync(target) && path !== '';
  return (
    hash === undefined ||
    hash === '' ||
    (texts.get(page) ?? '').includes(`id="${decodeURIComponent(hash)}"`)
  );
}
