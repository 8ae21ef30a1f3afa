import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from 'exact-change';
import { afterAll, describe, expect, it } from 'vitest';
import { configFolder, stateFolder } from '../../../adapters/cli/paths.js';
import { nodeOptions, readSettings, type Settings } from '../../../adapters/cli/settings.js';

const folder = mkdtempSync(join(tmpdir(), 'exact-change-settings-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const path = join(folder, 'config.json');
const withFile = (content: unknown) => {
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return { XDG_CONFIG_HOME: folder, EXACT_CHANGE_CONFIG: path };
};

describe('settings', () => {
  it('prefer flags to the environment and the environment to the file, cap by cap', () => {
    const env = {
      ...withFile({
        rpcUrl: 'https://file.example.com',
        jupiterUrl: 'https://jupiter.example.com',
        autoSwap: false,
        policy: { maxPerPayment: '0.10', maxPerDay: '1.00', maxTotal: '20' },
      }),
      SOLANA_RPC_URL: 'https://a.example.com, https://b.example.com',
      EXACT_CHANGE_MAX_PER_PAYMENT: '0.20',
    };
    expect(readSettings({ max: '0.30', journal: '/tmp/j' }, env)).toMatchObject({
      rpcUrl: ['https://a.example.com', 'https://b.example.com'],
      jupiterUrl: 'https://jupiter.example.com',
      autoSwap: false,
      journal: '/tmp/j',
      policy: { maxPerPayment: '0.30', maxPerDay: '1.00', maxTotal: '20' },
    });
    expect(readSettings({}, env).policy?.maxPerPayment).toBe('0.20');
    expect(readSettings({ rpcUrl: ['https://flag.example.com'] }, env).rpcUrl).toEqual([
      'https://flag.example.com',
    ]);
  });

  it('have no key of a lower source for an address of a higher source', () => {
    const env = {
      ...withFile({ apiUrl: 'https://a.example.com', apiKey: 'a', jupiterApiKey: 'j' }),
      EXACT_CHANGE_API_URL: 'https://b.example.com',
    };
    const keys = (settings: Settings) => [settings.apiKey, settings.jupiterApiKey];
    expect(keys(readSettings({}, env))).toEqual([undefined, 'j']);
    expect(keys(readSettings({}, { ...env, EXACT_CHANGE_API_KEY: 'b' }))).toEqual(['b', 'j']);
    const flags = { jupiterUrl: 'https://other.example.com' };
    expect(keys(readSettings(flags, { ...env, JUPITER_API_KEY: 'k' }))).toEqual([
      undefined,
      undefined,
    ]);
  });

  it('have no WebSocket of a lower source beside the node of a higher source', () => {
    const env = withFile({ rpcUrl: 'https://a.example.com', wsUrl: 'wss://a.example.com' });
    expect(readSettings({}, env).wsUrl).toBe('wss://a.example.com');
    const flags = { rpcUrl: ['https://b.example.com'] };
    expect(readSettings(flags, env).wsUrl).toBeUndefined();
    const wsUrl = 'wss://b.example.com';
    expect(readSettings({ ...flags, wsUrl }, env).wsUrl).toBe(wsUrl);
    const ofEnvironment = { ...env, SOLANA_RPC_URL: 'https://c.example.com' };
    expect(readSettings({}, ofEnvironment).wsUrl).toBeUndefined();
    expect(readSettings({ wsUrl }, ofEnvironment).wsUrl).toBe(wsUrl);
  });

  it('send a key to the address of a lower source, or of the same source', () => {
    const { EXACT_CHANGE_CONFIG } = withFile({ apiUrl: 'https://a.example.com' });
    const env = {
      ...{ EXACT_CHANGE_CONFIG, EXACT_CHANGE_API_KEY: 'a' },
      ...{ JUPITER_API_KEY: 'j', JUPITER_URL: 'https://jupiter.example.com' },
    };
    expect(readSettings({}, env)).toMatchObject({ apiKey: 'a', jupiterApiKey: 'j' });
  });

  it('take an empty variable for an absent one', () => {
    const env = { XDG_CONFIG_HOME: '/nowhere', EXACT_CHANGE_CONFIG: '' };
    expect(readSettings({}, env).configFile).toBeUndefined();
  });

  it('enable swaps unless a flag or a variable disables them', () => {
    expect(readSettings({}, { XDG_CONFIG_HOME: '/nowhere' }).autoSwap).toBe(true);
    expect(readSettings({ swap: true }, { EXACT_CHANGE_AUTO_SWAP: 'false' }).autoSwap).toBe(false);
    expect(readSettings({ swap: false }, { EXACT_CHANGE_AUTO_SWAP: 'true' }).autoSwap).toBe(false);
  });

  it('have no top-up without swaps', () => {
    const env = withFile({ policy: { topUp: { token: 'USDC', below: '0.50', to: '2.00' } } });
    const settings = nodeOptions(readSettings({ swap: false }, env));
    const signer = {
      address: 'So11111111111111111111111111111111111111112',
      signMessage: () => Promise.reject(new Error('unused')),
    };
    expect(() =>
      createClient({ ...settings, rpcUrl: 'https://rpc.example.com', signer }),
    ).not.toThrow();
    expect(readSettings({}, env).policy?.topUp).toBeDefined();
  });

  it.each<[string, Record<string, string>, RegExp]>([
    [
      'a misspelt variable',
      { EXACT_CHANGE_MAX_PER_DAYS: '1' },
      /Did you mean EXACT_CHANGE_MAX_PER_DAY\?/,
    ],
    [
      'two wallets at once',
      { EXACT_CHANGE_KEY_FILE: '/a', WALLET_SECRET_KEY: 'b' },
      /excludes WALLET_SECRET_KEY/,
    ],
    ['a missing file', { EXACT_CHANGE_CONFIG: '/nowhere.json' }, /cannot be read/],
    ['a switch that is neither true nor false', { EXACT_CHANGE_AUTO_SWAP: 'yes' }, /true or false/],
  ])('refuse %s', (_, env, message) => {
    expect(() => readSettings({}, env)).toThrow(message);
  });

  it.each<[string, unknown, RegExp]>([
    ['a misspelt setting', { polcy: {} }, /Did you mean .*policy\?/],
    ['text that is not JSON', 'maxPerDay = 1', /JSON object/],
    ['a list of caps', { policy: [] }, /must be an object/],
    ['a wallet that is not a path', { wallet: [1, 2, 3] }, /must be the path of a file/],
    ['a network that is no text', { network: null }, /network in .* must be text/],
  ])('refuse a file with %s', (_, content, message) => {
    expect(() => readSettings({}, withFile(content))).toThrow(message);
  });
});

describe('the config and state folders', () => {
  it('follow absolute XDG variables, and else lie below the home folder', () => {
    expect(configFolder({ XDG_CONFIG_HOME: '/c' })).toBe('/c/exact-change');
    expect(stateFolder({ XDG_STATE_HOME: '/s' })).toBe('/s/exact-change');
    expect(configFolder({ XDG_CONFIG_HOME: 'c' })).toBe(join(homedir(), '.config/exact-change'));
    expect(stateFolder({})).toBe(join(homedir(), '.local/state/exact-change'));
  });
});
