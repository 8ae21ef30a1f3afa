import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { terminalOf } from '../../../adapters/cli/terminal.js';
import { readKeyFile } from '../../../adapters/cli/wallet.js';
import {
  decryptWallet,
  encryptWallet,
  readEncrypted,
  writeNewFile,
} from '../../../adapters/cli/wallet-file.js';

const CHEAP = 2 ** 14;
const ADDRESS = '7fUAJdStEuGbc3sM84cKRL6yYaaSstyLSU4ve5oovLS7';
const secret = Uint8Array.from({ length: 64 }, (_, index) => index);
const file = await encryptWallet(secret, ADDRESS, 'correct horse', CHEAP);

describe('an encrypted wallet', () => {
  it('returns its key for the right passphrase only', async () => {
    expect(Uint8Array.from(await decryptWallet(file, 'correct horse'))).toEqual(secret);
    await expect(decryptWallet(file, 'correct horsf')).rejects.toMatchObject({
      code: 'invalid_key',
    });
  });

  it('contains no part of the key, and differs each time it is encrypted', async () => {
    const text = JSON.stringify(file);
    expect(text).not.toContain(Buffer.from(secret).toString('base64').slice(4, 20));
    expect((await encryptWallet(secret, ADDRESS, 'correct horse', CHEAP)).ciphertext).not.toBe(
      file.ciphertext,
    );
  });

  it('opens for the same passphrase in another Unicode composition', async () => {
    const composed = await encryptWallet(secret, ADDRESS, 'caf\u00e9 caf\u00e9', CHEAP);
    expect(await decryptWallet(composed, 'cafe\u0301 cafe\u0301')).toHaveLength(64);
  });

  it.each([
    ['another address', { address: '6kxDXhR8jzAHDPgB1tTq4NYrpz5Yo4wbWuFBa9dMYqRx' }],
    ['another tag', { tag: Buffer.alloc(16).toString('base64') }],
  ])('refuses to open with %s', async (_, change) => {
    await expect(decryptWallet({ ...file, ...change }, 'correct horse')).rejects.toMatchObject({
      code: 'invalid_key',
    });
  });

  it.each([
    ['a short tag, which could be guessed', { tag: Buffer.alloc(4).toString('base64') }],
    ['a cost that takes all memory', { scrypt: { ...file.scrypt, cost: 2 ** 24 } }],
    ['a cost that is cheap to try', { scrypt: { ...file.scrypt, cost: 2 } }],
    ['a cost that is not a power of two', { scrypt: { ...file.scrypt, cost: CHEAP + 2 } }],
    ['another version', { version: 2 }],
    ['another length', { ciphertext: Buffer.alloc(32).toString('base64') }],
  ])('fails to parse with %s', (_, change) => {
    expect(readEncrypted(file)).toEqual(file);
    expect(readEncrypted({ ...file, ...change })).toBeUndefined();
  });
});

const folder = mkdtempSync(join(tmpdir(), 'exact-change-wallet-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a key file', () => {
  const path = join(folder, 'id.json');
  const warning = `Other users may read ${path}. Let its owner alone read it: chmod 600 ${path}`;

  it.each([
    ['600', []],
    ['640', [warning]],
    ['604', [warning]],
  ])('is read with a warning if other users may read it: mode %s', (mode, warnings) => {
    writeFileSync(path, '[1]');
    chmodSync(path, mode);
    const said: string[] = [];
    const terminal = { ...terminalOf(process), say: (text: string) => void said.push(text) };
    expect(readKeyFile(path, terminal)).toBe('[1]');
    expect(said).toEqual(warnings);
  });
});

describe('a new file', () => {
  it('is readable by its owner only, and never replaces an existing file', async () => {
    const path = join(folder, 'deep/wallet.json');
    await writeNewFile(path, 'first');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await expect(writeNewFile(path, 'second')).rejects.toMatchObject({ code: 'EEXIST' });
    expect(readFileSync(path, 'utf8')).toBe('first');
    expect(readdirSync(join(folder, 'deep'))).toEqual(['wallet.json']);
  });

  it('counts as written only once a power failure cannot lose its name', async () => {
    const syncs: string[][] = [];
    await writeNewFile(join(folder, 'named/wallet.json'), 'key', async (place) => {
      syncs.push([place, ...readdirSync(place)]);
    });
    expect(syncs).toEqual([[join(folder, 'named'), 'wallet.json']]);
  });
});
