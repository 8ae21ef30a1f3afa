import {
  address,
  getAddressDecoder,
  getAddressEncoder,
  getProgramDerivedAddress,
  type Address,
} from '@solana/kit';

export const PROGRAMS = {
  system: address('11111111111111111111111111111111'),
  token: address('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'),
  token2022: address('TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb'),
  associatedToken: address('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL'),
  computeBudget: address('ComputeBudget111111111111111111111111111111'),
  jupiter: address('JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4'),
  lookupTable: address('AddressLookupTab1e1111111111111111111111111'),
  compression: address('cmtDvXumGCrqC1Age74AVPhSRVXJMd8PJS91L8KbNCK'),
  compressionOfMetaplex: address('mcmt6YrQEMKw8Mw43FmpRLmf7BqRnFMKmAcbxE3xkAW'),
  compressionOfLight: address('compr6CUsB5m2jS4Y3831ztGSTnDpnKJTKS95d64XVq'),
  stake: address('Stake11111111111111111111111111111111111111'),
  vote: address('Vote111111111111111111111111111111111111111'),
  config: address('Config1111111111111111111111111111111111111'),
  upgradeableLoader: address('BPFLoaderUpgradeab1e11111111111111111111111'),
  loaderV4: address('LoaderV411111111111111111111111111111111111'),
  loaderV2: address('BPFLoader2111111111111111111111111111111111'),
  memo: address('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr'),
  memoV1: address('Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo'),
  lighthouse: address('L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95'),
  ed25519: address('Ed25519SigVerify111111111111111111111111111'),
  secp256k1: address('KeccakSecp256k11111111111111111111111111111'),
  raydium: address('675kPX9MHTjS2zt1qfr1NYHuzeLXfQM9H24wFSUt1Mp8'),
  whirlpool: address('whirLbMiicVdio4qvUfM5KAg6Ct8VwpYzGff3uctyCc'),
  jupiterV4: address('JUP4Fb2cqiRUcaTHdrPC8h2gNsA2ETXiPDD33WcGuJB'),
  jupiterLimitOrder: address('jupoNjAxXgZ4rjzxzPMP4oxduvQsQtZzyknqvzYNrNu'),
} as const;

export const SYSVARS = {
  clock: address('SysvarC1ock11111111111111111111111111111111'),
  rent: address('SysvarRent111111111111111111111111111111111'),
  recentBlockhashes: address('SysvarRecentB1ockHashes11111111111111111111'),
  stakeHistory: address('SysvarStakeHistory1111111111111111111111111'),
} as const;

export const MINTS = {
  usdc: address('EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'),
  usdt: address('Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB'),
  wsol: address('So11111111111111111111111111111111111111112'),
  /** A mint of Token-2022. */
  pyusd: address('2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo'),
  /** A token that the wallet holds, but that no swap of the corpus trades. */
  bonk: address('DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263'),
} as const;

/** PDA of Jupiter with the seed `__event_authority`. */
export const EVENT_AUTHORITY = address('D8cy77BBepLMngZx6ZukaTff5hCt1HrWyKk3Hnd9oitf');
/** PDA of Jupiter with the seeds `authority`, 3: owns the accounts of shared-accounts swaps. */
export const SHARED_AUTHORITY = address('6U91aKa8pmMxkJwBCfPTmUEfZi6dHe7DcFq2ALvB2tbB');
export const SHARED_ID = 3;

/** Makes an arbitrary address: 32 bytes from two numbers. */
export function someKey(first: number, second = first + 1): Address {
  return getAddressDecoder().decode(new Uint8Array(32).fill(first).fill(second, 16));
}

export const WALLET = someKey(7);
export const ATTACKER = someKey(66);
/** Fake mints with the symbol and the decimals of a pinned mint. */
export const FAKE_MINTS = {
  usdc: someKey(150),
  usdt: someKey(152),
  pyusd: someKey(154),
  wsol: someKey(156),
} as const;

export async function associatedToken(
  owner: Address,
  mint: Address,
  programAddress: Address,
): Promise<Address> {
  const encode = (key: Address) => getAddressEncoder().encode(key);
  const [derived] = await getProgramDerivedAddress({
    programAddress: PROGRAMS.associatedToken,
    seeds: [encode(owner), encode(programAddress), encode(mint)],
  });
  return derived;
}

export function tokenProgramOf(mint: Address): Address {
  return mint === MINTS.pyusd || mint === FAKE_MINTS.pyusd ? PROGRAMS.token2022 : PROGRAMS.token;
}

async function allOf(owner: Address): Promise<ReadonlyMap<Address, Address>> {
  const mints = [...Object.values(MINTS), ...Object.values(FAKE_MINTS)];
  return new Map(
    await Promise.all(
      mints.map(
        async (mint) => [mint, await associatedToken(owner, mint, tokenProgramOf(mint))] as const,
      ),
    ),
  );
}

const accountsOf = new Map([
  [WALLET, await allOf(WALLET)],
  [ATTACKER, await allOf(ATTACKER)],
]);

function tokenOf(owner: Address, mint: Address): Address {
  const derived = accountsOf.get(owner)?.get(mint);
  if (derived === undefined)
    throw new Error(`The corpus knows no token account of ${owner} for ${mint}.`);
  return derived;
}

/** Returns the wallet's associated token account. */
export const own = (mint: Address): Address => tokenOf(WALLET, mint);
/** Returns the attacker's associated token account. */
export const theirs = (mint: Address): Address => tokenOf(ATTACKER, mint);

const { token, token2022 } = PROGRAMS;
/** The wallet's PYUSD account, derived as if the mint belonged to the older token program. */
export const OWN_PYUSD_OF_WRONG_PROGRAM = await associatedToken(WALLET, MINTS.pyusd, token);
/** The wallet's USDC account, derived as if the mint belonged to Token-2022. */
export const OWN_USDC_OF_WRONG_PROGRAM = await associatedToken(WALLET, MINTS.usdc, token2022);
export const OWN_USDT_OF_WRONG_PROGRAM = await associatedToken(WALLET, MINTS.usdt, token2022);
export const OWN_WSOL_OF_WRONG_PROGRAM = await associatedToken(WALLET, MINTS.wsol, token2022);
