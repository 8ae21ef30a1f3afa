import { describe, expect, it } from 'vitest';
import { lockfileProblems, type Lockfile } from '../../scripts/check-lockfile.js';
import { readText } from './modules.js';

const integrity = 'sha512-AA==';
const check = (path: string, entry: Lockfile['packages'][string]) =>
  lockfileProblems({ packages: { [path]: { integrity, ...entry } } });

describe('the lock file', () => {
  it('has no problem in this repository', () => {
    expect(lockfileProblems(JSON.parse(readText('package-lock.json')) as Lockfile)).toEqual([]);
  });

  it.each<[string, Lockfile['packages'][string], RegExp]>([
    ['node_modules/@solana/web3.js', { version: '1.95.7' }, /malware/],
    ['node_modules/a/node_modules/chalk', { version: '5.6.1' }, /malware/],
    ['node_modules/ws', { version: '8.21.0' }, /known hole/],
    ['node_modules/a/node_modules/ws', { version: '7.5.10' }, /known hole/],
    ['node_modules/ws', { version: '6.2.3' }, /known hole/],
    ['node_modules/a/node_modules/bigint-buffer', { version: '1.1.5' }, /no release/],
    ['node_modules/undici', { version: '5.29.0' }, /known hole/],
    ['node_modules/a', { version: '1.0.0', resolved: 'https://example.com/a.tgz' }, /host/],
    ['node_modules/a', { version: '1.0.0', resolved: 'git+ssh://git@example.com/a.git' }, /host/],
    ['node_modules/a', { version: '1.0.0', integrity: 'sha1-AA==' }, /integrity/],
    ['node_modules/a', { version: '1.0.0', hasInstallScript: true }, /script on installation/],
  ])('refuses %s %o', (path, entry, message) => {
    expect(check(path, entry)).toContainEqual(expect.stringMatching(message));
  });

  it.each<[string, Lockfile['packages'][string]]>([
    ['node_modules/ws', { version: '8.21.1' }],
    ['node_modules/ws', { version: '9.0.0' }],
    ['node_modules/base-x', { version: '3.0.11' }],
    ['node_modules/a', { version: '1.0.0', hasInstallScript: true, dev: true }],
    ['node_modules/stub', { link: true, resolved: 'test/fixtures/stub' }],
  ])('accepts %s %o', (path, entry) => {
    expect(check(path, entry)).toEqual([]);
  });
});
