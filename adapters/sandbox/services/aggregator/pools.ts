import {
  address,
  getAddressEncoder,
  getProgramDerivedAddress,
  type AccountMeta,
  type Address,
} from '@solana/kit';
import { ASSOCIATED_TOKEN_PROGRAM, MINTS, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../mints.js';
import type { Chain, SandboxMint } from '../../types.js';
import {
  configData,
  EVENT_AUTHORITY,
  POOL_AUTHORITY,
  VENUE,
  type VenueConfig,
} from '../../venue/venue.mjs';

export const SYSTEM_PROGRAM = address('11111111111111111111111111111111');
export const COMPUTE_BUDGET_PROGRAM = address('ComputeBudget111111111111111111111111111111');
const LOOKUP_TABLE_PROGRAM = address('AddressLookupTab1e1111111111111111111111111');
/**
 * Base units in each vault. This is more than any swap of the sandbox pays out. It is below 2^53,
 * like nearly all lamport amounts of a real cluster.
 */
const VAULT = 10n ** 15n;

/**
 * Behaviour of the swap program. `extra` lists accounts that its hostile modes need; each swap
 * instruction then names them.
 */
export interface VenueBehaviour extends VenueConfig {
  readonly extra?: readonly (Address | AccountMeta)[];
}

/** The pools of the swap program on the chain. */
export interface Pools {
  readonly config: Address;
  /**
   * Returns the vault that takes the input of a swap, and the vault that pays its output. Returns
   * undefined if a token has no pool.
   */
  vaults(
    input: SandboxMint,
    output: SandboxMint,
  ): { readonly vaultIn: Address; readonly vaultOut: Address } | undefined;
  /**
   * Makes the pool of a new mint. The tokens with which its buyers pay go to `proceedsTo`, or to
   * the venue's vaults if it is undefined.
   */
  add(mint: SandboxMint, proceedsTo: Address | undefined): Promise<void>;
  /** Contents of the lookup tables that swaps use, by address. */
  readonly lookupTables: Readonly<Record<Address, Address[]>>;
  /** Extra accounts of every swap instruction, set by {@link setBehaviour}. */
  readonly extra: readonly (Address | AccountMeta)[];
  setBehaviour(behaviour: VenueBehaviour): void;
}

/** Writes the vaults, the config account and the lookup tables of the swap program. */
export async function seedPools(chain: Chain): Promise<Pools> {
  const config = await derived(VENUE, 'config');
  let extra: readonly (Address | AccountMeta)[] = [];
  const setBehaviour = (behaviour: VenueBehaviour): void => {
    const { extra: accounts = [], ...rest } = behaviour;
    extra = accounts;
    write(chain, config, VENUE, configData(rest));
  };
  setBehaviour({});

  const vaults = new Map<string, Address>();
  for (const mint of MINTS)
    vaults.set(mint.address, await chain.fundToken(POOL_AUTHORITY, mint, VAULT));
  const proceeds = new Map<string, Address>();
  const pair = (input: SandboxMint, output: SandboxMint): string =>
    `${input.address}>${output.address}`;

  const programs = [
    TOKEN_PROGRAM,
    TOKEN_2022_PROGRAM,
    ASSOCIATED_TOKEN_PROGRAM,
    SYSTEM_PROGRAM,
    EVENT_AUTHORITY,
    VENUE,
  ];
  const tables: readonly (readonly [Address, Address[]])[] = [
    [
      await derived(LOOKUP_TABLE_PROGRAM, 'common'),
      [...programs, ...MINTS.map((mint) => mint.address)],
    ],
    [await derived(LOOKUP_TABLE_PROGRAM, 'pools'), [POOL_AUTHORITY, config, ...vaults.values()]],
  ];
  for (const [table, addresses] of tables)
    write(chain, table, LOOKUP_TABLE_PROGRAM, lookupTableData(addresses));

  return {
    config,
    vaults(input, output) {
      const vaultIn = proceeds.get(pair(input, output)) ?? vaults.get(input.address);
      const vaultOut = vaults.get(output.address);
      return vaultIn === undefined || vaultOut === undefined ? undefined : { vaultIn, vaultOut };
    },
    async add(mint, proceedsTo) {
      vaults.set(mint.address, await chain.fundToken(POOL_AUTHORITY, mint, VAULT));
      if (proceedsTo === undefined) return;
      for (const input of MINTS)
        proceeds.set(pair(input, mint), await chain.fundToken(proceedsTo, input, 0n));
    },
    lookupTables: Object.fromEntries(tables),
    get extra() {
      return extra;
    },
    setBehaviour,
  };
}

async function derived(programAddress: Address, name: string): Promise<Address> {
  return (await getProgramDerivedAddress({ programAddress, seeds: [name] }))[0];
}

function write(chain: Chain, at: Address, owner: Address, data: Uint8Array): void {
  chain.setAccount(at, {
    lamports: 6960n * BigInt(128 + data.length),
    data,
    owner,
    executable: false,
  });
}

/**
 * Encodes an active, frozen lookup table, last extended at slot 0: a header of 56 bytes, then the
 * addresses.
 */
function lookupTableData(addresses: readonly Address[]): Uint8Array {
  const data = new Uint8Array(56 + 32 * addresses.length);
  const view = new DataView(data.buffer);
  view.setUint32(0, 1, true);
  view.setBigUint64(4, (1n << 64n) - 1n, true);
  const encoder = getAddressEncoder();
  addresses.forEach((entry, index) => data.set(encoder.encode(entry), 56 + 32 * index));
  return data;
}
