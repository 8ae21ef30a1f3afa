import { getAddressEncoder } from '@solana/kit';
import { describe, expect, it } from 'vitest';
import {
  exactOutRouteV2,
  routeV2,
  sharedAccountsExactOutRouteV2,
  sharedAccountsRouteV2,
} from '../../../../adapters/sandbox/venue/venue.mjs';
import {
  checkExposure,
  type Exposed,
  foreignAccounts,
} from '../../../../src/swaps/firewall/exposure.js';
import { checkSwap } from '../../../../src/swaps/firewall/swap-rules.js';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../../../src/network.js';
import { associatedTokenAddress } from '../../../../src/solana/tokens/accounts.js';
import { createSeedSigner } from '../../../../src/solana/keys.js';
import {
  DESTINATION,
  EXPECTED,
  PYUSD,
  SOURCE,
  STRANGER,
  VENUE_SWAP,
  WALLET,
  account,
  fromKit,
  someKey,
} from '../support.js';

const exactIn = { ...VENUE_SWAP, inAmount: 1_005_000n, quotedOutAmount: 1_000_000n };
const exactOut = { ...VENUE_SWAP, outAmount: 1_000_000n, quotedInAmount: 1_000_000n };

const FORMS = {
  route_v2: fromKit(routeV2(exactIn)),
  exact_out_route_v2: fromKit(exactOutRouteV2(exactOut)),
  shared_accounts_route_v2: fromKit(sharedAccountsRouteV2({ ...exactIn, id: 3 })),
  shared_accounts_exact_out_route_v2: fromKit(
    sharedAccountsExactOutRouteV2({ ...exactOut, id: 3 }),
  ),
};

describe('an honest instruction', () => {
  it.each(Object.entries(FORMS))(
    'passes, and is decoded with its accounts and amounts: %s',
    (form, instruction) => {
      expect(checkSwap(instruction, EXPECTED)).toMatchObject({
        user: WALLET,
        source: SOURCE,
        destination: DESTINATION,
        destinationOverride: undefined,
        maxIn: 1_005_000n,
        minOut: form.includes('exact_out') ? 1_000_000n : 995_000n,
        slippageBps: 50,
        platformFeeBps: 0,
        positiveSlippageBps: 0,
      });
    },
  );
});

describe('an instruction cut within its numbers', () => {
  it.each(Object.entries(FORMS))('is refused as truncated: %s', (form, instruction) => {
    const data = instruction.data.slice(0, (form.startsWith('shared') ? 9 : 8) + 22);
    expect(() => checkSwap({ ...instruction, data }, EXPECTED)).toThrow(
      expect.objectContaining({ details: { rule: 'jupiter_truncated' } }),
    );
  });
});

/** An address that has a private key. */
const OUTSIDER = createSeedSigner(new Uint8Array(32).fill(5)).address;

describe('the check of the accounts that a venue could reach', () => {
  const wallet = getAddressEncoder().encode(WALLET);
  const writable = (held: Exposed['account'], address: string = STRANGER): Exposed => ({
    address,
    writable: true,
    account: held,
  });
  const readonly = (held: Exposed['account']): Exposed => ({
    address: STRANGER,
    writable: false,
    account: held,
  });

  it('omits the accounts of the swap, and marks accounts that the swap can write', () => {
    const found = foreignAccounts(FORMS.route_v2, [WALLET, SOURCE, DESTINATION]);
    expect(found.filter((entry) => entry.writable).map((entry) => entry.address)).toEqual([
      VENUE_SWAP.vaultIn,
      VENUE_SWAP.vaultOut,
    ]);
    expect(found.some((entry) => [WALLET, SOURCE, DESTINATION].includes(entry.address))).toBe(
      false,
    );
    expect(new Set(found.map((entry) => entry.address)).size).toBe(found.length);
  });

  it('omits programs of the network, unless they are writable', () => {
    const named = (writable: boolean) => ({ address: TOKEN_PROGRAM, signer: false, writable });
    const { accounts, ...rest } = FORMS.route_v2;
    const found = (...more: ReturnType<typeof named>[]) =>
      foreignAccounts({ ...rest, accounts: [...accounts, ...more] }, []).filter(
        ({ address }) => address === TOKEN_PROGRAM,
      );
    expect(accounts.some(({ address }) => address === TOKEN_PROGRAM)).toBe(true);
    expect(found()).toEqual([]);
    expect(found(named(false))).toEqual([]);
    expect(found(named(true))).toEqual([named(true)]);
  });

  it('counts an account as writable if it is writable in any position', () => {
    const { accounts, ...rest } = FORMS.route_v2;
    const twice = [STRANGER, STRANGER].map((address, index) => ({
      address,
      signer: false,
      writable: index === 1,
    }));
    const found = foreignAccounts({ ...rest, accounts: [...accounts, ...twice] }, []);
    expect(found.filter((entry) => entry.address === STRANGER)).toEqual([twice[1]]);
  });

  it.each<[string, Exposed['account']]>([
    ['nothing', null],
    ['nothing but lamports', account('11111111111111111111111111111111', new Uint8Array())],
  ])('refuses a vacant address of an account of the wallet that holds %s', (_, held) => {
    const vacant = (mint: string, tokenProgram: string) =>
      writable(held, associatedTokenAddress(WALLET, mint, tokenProgram));
    const broken = expect.objectContaining({
      details: { rule: 'exposed_vacancy' },
    }) as unknown as Error;
    const pinned = vacant(PYUSD, TOKEN_2022_PROGRAM);
    expect(() => checkExposure(WALLET, [pinned])).toThrow(broken);
    expect(() => checkExposure(WALLET, [{ ...pinned, writable: false }])).not.toThrow();
    // The same holds for a token that is not pinned, if the swap names its mint.
    const mint = account(
      TOKEN_PROGRAM,
      Uint8Array.from({ length: 82 }, (_byte, index) => Number(index === 45)),
    );
    const other = vacant(OUTSIDER, TOKEN_PROGRAM);
    expect(() => checkExposure(WALLET, [other])).not.toThrow();
    expect(() => checkExposure(WALLET, [other, { ...readonly(mint), address: OUTSIDER }])).toThrow(
      broken,
    );
    // A vacant address of a venue is allowed, such as a price range without trades.
    expect(() => checkExposure(WALLET, [writable(held, someKey(60))])).not.toThrow();
  });

  it('accepts accounts of strangers, and a mint that is only read and that the wallet may mint', () => {
    const multisigOfOthers = account(TOKEN_PROGRAM, new Uint8Array(355).fill(9));
    const mint = new Uint8Array(82);
    mint.set([1, 0, 0, 0, ...wallet]);
    mint[45] = 1;
    const harmless = [
      readonly(account(TOKEN_PROGRAM, mint)),
      writable(account(TOKEN_PROGRAM, new Uint8Array(165))),
      readonly(multisigOfOthers),
      writable(null),
    ];
    expect(() => checkExposure(WALLET, harmless)).not.toThrow();
  });

  it.each([
    ['a token account', 165, 32],
    ['the delegate of a token account', 165, 76],
    ['a multisig', 355, 3],
  ])('refuses an account that is only read and names the wallet, as %s does', (_, length, at) => {
    const data = new Uint8Array(length);
    data.set(wallet, at);
    expect(() => checkExposure(WALLET, [readonly(account(TOKEN_PROGRAM, data))])).toThrow(
      expect.objectContaining({ details: { rule: 'exposed_multisig' } }),
    );
  });
});
