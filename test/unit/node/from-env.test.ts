import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { Connection } from '@solana/web3.js';
import { local } from 'exact-change';
import { clientFromEnv, fromFile } from 'exact-change/node';
import { afterAll, describe, expect, it } from 'vitest';
import { encryptWallet } from '../../../adapters/cli/wallet-file.js';
import { envVariables } from '../../../adapters/node/from-env.js';
import { base58 } from '../../../src/internal/bytes.js';
import { createSeedSigner } from '../../../src/solana/keys.js';
import { failureOf } from '../../helpers/payer.js';
import { startRecording } from '../recording-server.js';

const folder = mkdtempSync(join(tmpdir(), 'exact-change-env-'));
afterAll(() => rmSync(folder, { recursive: true }));

const seed = Uint8Array.from({ length: 32 }, (_, index) => index + 1);
const { address } = createSeedSigner(seed);
// The public key of that seed.
const PUBLIC = '79b5562e8fe654f94078b112e8a98ba7901f853ae695bed7e0e3910bad049664';
const key = JSON.stringify([...seed, ...Buffer.from(PUBLIC, 'hex')]);
const file = join(folder, 'id.json');
writeFileSync(file, `${key}\n`, { mode: 0o600 });

const failure = (make: () => unknown) => failureOf(Promise.resolve().then(make));

describe('fromFile', () => {
  it('reads the key from a file that solana-keygen wrote', () => {
    expect(fromFile(file).address).toBe(address);
  });

  it.each(['~', '~/no/such/file.json', join(folder, 'missing.json')])(
    'names the path when it cannot read %s',
    async (path) => {
      const error = await failure(() => fromFile(path));
      expect(error.code).toBe('invalid_key');
      expect(error.message).toContain(path.replace('~', homedir()));
    },
  );

  it.each([
    ['a list of bytes', key],
    ['base58', base58.encode(Uint8Array.from(JSON.parse(key) as number[]))],
    ['a seed', base58.encode(seed)],
    ['a seed in hex', Buffer.from(seed).toString('hex')],
    ['a seed as a list of bytes', JSON.stringify([...seed])],
  ])('repeats no key that is in the place of its path: %s', async (_, text) => {
    const error = await failure(() => fromFile(text));
    expect(error.code).toBe('invalid_key');
    expect(error.message).toContain('a key was given, and the path of a key file is needed');
    expect(inspect(error)).not.toContain(text.slice(0, 20));
  });

  it('refuses a path that is missing', async () => {
    const variables: { readonly KEY_FILE: string } = JSON.parse('{}');
    const error = await failure(() => fromFile(variables.KEY_FILE));
    expect(error.code).toBe('invalid_key');
    expect(error.message).toContain('no path of a key file was given');
  });

  it('says that only the command reads its encrypted wallet, and quotes nothing of it', async () => {
    const path = join(folder, 'wallet.json');
    const wallet = await encryptWallet(new Uint8Array(64), address, 'passphrase', 2 ** 14);
    writeFileSync(path, JSON.stringify(wallet));
    const error = await failure(() => clientFromEnv({}, { EXACT_CHANGE_KEY_FILE: path }));
    expect(error.code).toBe('invalid_key');
    expect(error.message).toContain('an encrypted wallet of the command exact-change');
    expect(inspect(error)).not.toContain(wallet.ciphertext.slice(0, 20));
  });

  it('quotes no content of a file without a key', async () => {
    const bad = join(folder, 'bad.json');
    writeFileSync(bad, 'correct horse battery staple');
    const error = await failure(() => fromFile(bad));
    expect(error.code).toBe('invalid_key');
    expect(`${error.message} ${String(error.cause)}`).not.toContain('horse');
  });
});

describe('clientFromEnv', () => {
  it('reads the key, and ignores empty variables', () => {
    const env = {
      WALLET_SECRET_KEY: key,
      EXACT_CHANGE_KEY_FILE: ' ',
      SOLANA_RPC_URL: '',
      HOME: '/',
    };
    expect(clientFromEnv({}, env).address).toBe(address);
  });

  it('reads a key file, each option and each cap, and prefers options of the caller', async () => {
    const client = clientFromEnv(
      { policy: { maxPerDay: '2.00' } },
      {
        EXACT_CHANGE_KEY_FILE: file,
        SOLANA_RPC_URL: 'http://127.0.0.1:9, http://127.0.0.1:10',
        EXACT_CHANGE_WS_URL: 'ws://127.0.0.1:9',
        EXACT_CHANGE_NETWORK: 'devnet',
        EXACT_CHANGE_JUPITER_URL: 'http://127.0.0.1:9',
        JUPITER_API_KEY: 'a-key',
        EXACT_CHANGE_AUTO_SWAP: 'true',
        EXACT_CHANGE_SWAP_FROM: 'USDC, SOL',
        EXACT_CHANGE_MAX_PER_PAYMENT: '0.10',
        EXACT_CHANGE_MAX_PER_DAY: '1.00',
        EXACT_CHANGE_API_URL: 'http://127.0.0.1:9',
        EXACT_CHANGE_API_KEY: 'another-key',
        EXACT_CHANGE_JOURNAL: join(folder, 'payments.jsonl'),
      },
    );
    expect(client.address).toBe(address);
    const limits = (await client.spent()).map(({ cap, limit }) => [cap, limit]);
    expect(limits).toContainEqual(['maxPerDay', '2']);
    await client.close();
  });

  it('keeps a cap of the environment when the caller passes undefined', async () => {
    const options = { rpcUrl: undefined, policy: { maxPerDay: undefined } };
    const client = clientFromEnv(options, {
      WALLET_SECRET_KEY: key,
      SOLANA_RPC_URL: 'http://127.0.0.1:9',
      EXACT_CHANGE_MAX_PER_DAY: '1.00',
    });
    const limits = (await client.spent()).map(({ cap, limit }) => [cap, limit]);
    expect(limits).toContainEqual(['maxPerDay', '1']);
    await client.close();
  });

  it.each([
    ['WALLET_SECRET_KEY', {}],
    ['SOLANA_RPC_URL', { SOLANA_RPC_URL: 'node' }],
    ['EXACT_CHANGE_API_URL', { EXACT_CHANGE_API_URL: 'service' }],
    ['EXACT_CHANGE_MAX_PER_DAY', { EXACT_CHANGE_MAX_PER_DAY: 'much' }],
  ])('names the variable %s in its error', async (variable, env) => {
    const wallet = variable === 'WALLET_SECRET_KEY' ? {} : { WALLET_SECRET_KEY: key };
    const error = await failure(() => clientFromEnv({}, { ...wallet, ...env }));
    expect([error.code, error.details]).toEqual(['invalid_option', { option: variable }]);
    expect(error.message).toMatch(new RegExp(`^Variable ${variable} [im]`));
  });

  it('names an option of the caller in its error', async () => {
    const env = { WALLET_SECRET_KEY: key, SOLANA_RPC_URL: 'http://127.0.0.1:9' };
    const error = await failure(() => clientFromEnv({ rpcUrl: 'node' }, env));
    expect(error.details).toEqual({ option: 'rpcUrl' });
  });

  it('ignores the wallet of the environment when the caller passes a signer', () => {
    const signer = { address, signMessage: () => Promise.resolve(new Uint8Array(64)) };
    expect(clientFromEnv({ signer }, { WALLET_SECRET_KEY: 'no key' }).address).toBe(address);
  });

  it('ignores the node and the service of the environment when the caller passes its own', () => {
    const connection = new Connection('http://127.0.0.1:9');
    const env = {
      WALLET_SECRET_KEY: key,
      SOLANA_RPC_URL: 'http://127.0.0.1:10',
      EXACT_CHANGE_API_URL: 'http://127.0.0.1:10',
      EXACT_CHANGE_API_KEY: 'a-key',
    };
    expect(clientFromEnv({ connection, transport: local() }, env).address).toBe(address);
  });

  it.each([
    ['rpcUrl', 'http://127.0.0.1:9'],
    ['connection', new Connection('http://127.0.0.1:9')],
  ])("ignores the WebSocket of the environment beside the caller's %s", async (option, node) => {
    // It is no address, so each use of it is refused.
    const env = { WALLET_SECRET_KEY: key, EXACT_CHANGE_WS_URL: 'of another node' };
    const error = await failure(() => clientFromEnv({}, env));
    expect(error.details).toEqual({ option: 'EXACT_CHANGE_WS_URL' });
    expect(clientFromEnv({ [option]: node }, env).address).toBe(address);
  });

  it.each([
    ['apiUrl', 'EXACT_CHANGE_API_KEY'],
    ['jupiterUrl', 'JUPITER_API_KEY'],
  ])("sends no key of the environment to the caller's %s", async (option, name) => {
    const { origin, seen, close } = await startRecording();
    const env = { WALLET_SECRET_KEY: key, [name]: 'a-secret-key' };
    const client = clientFromEnv({ [option]: origin }, env);
    await failureOf(client.quote({ inputMint: 'SOL', outputMint: 'USDC', amount: '1' }));
    expect(seen).not.toEqual([]);
    expect(seen.flatMap(({ rawHeaders }) => rawHeaders).join()).not.toContain('a-secret-key');
    await client.close();
    await close();
  });

  it.each([
    ['a misspelt cap', { EXACT_CHANGE_MAX_PER_DAYS: '1' }, 'EXACT_CHANGE_MAX_PER_DAYS'],
    [
      'a flag that is neither true nor false',
      { EXACT_CHANGE_AUTO_SWAP: 'yes' },
      'EXACT_CHANGE_AUTO_SWAP',
    ],
    [
      'a cap that is not an amount',
      { EXACT_CHANGE_MAX_PER_DAY: 'lots' },
      'EXACT_CHANGE_MAX_PER_DAY',
    ],
    ['two wallets', { EXACT_CHANGE_KEY_FILE: file }, 'EXACT_CHANGE_KEY_FILE'],
  ])('refuses %s and names it', async (_, env, option) => {
    const error = await failure(() => clientFromEnv({}, { WALLET_SECRET_KEY: key, ...env }));
    expect(error).toMatchObject({ code: 'invalid_option', details: { option } });
  });

  it('reads exactly the variables that .env.example lists, and the guide names each', () => {
    const example = readFileSync(new URL('../../../.env.example', import.meta.url), 'utf8');
    const listed = [...example.matchAll(/^([A-Z_]+)=/gm)].map(([, name]) => name);
    expect([...listed].sort()).toEqual([...envVariables].sort());
    const guide = readFileSync(new URL('../../../docs/wallets.md', import.meta.url), 'utf8');
    expect(envVariables.filter((name) => !guide.includes(`\`${name}\``))).toEqual([]);
  });
});
