/** The size of a value, and the tags that it may hold: enough to skip it. Borsh, little endian. */
export type Kind =
  /** That many bytes with any content. */
  | number
  /** Values that follow each other. */
  | { readonly fields: readonly Kind[] }
  /** A byte that says which value follows; `undefined` is a value that we do not know. */
  | { readonly tagged: readonly (Kind | undefined)[] }
  /** A u32 that says how many values follow, and the most that we read. */
  | { readonly list: Kind; readonly most: number };

// A transaction has at most 1,232 bytes, and Jupiter's longest routes have a handful of steps. A
// plan that announces more means to mislead.
const MOST_BYTES = 1_232;
const MOST_ENTRIES = 32;

const none = 0;
const u8 = 1;
const u16 = 2;
const u32 = 4;
const u64 = 8;
const u128 = 16;
const unitEnum = (size: number): Kind => ({ tagged: Array.from({ length: size }, () => none) });
const option = (kind: Kind): Kind => ({ tagged: [none, kind] });
const list = (kind: Kind): Kind => ({ list: kind, most: MOST_ENTRIES });
const of = (...fields: readonly Kind[]): Kind => ({ fields });

const bool = unitEnum(2);
const side = unitEnum(2);
const slices = list(of(u8, u8));
const boolSlices = of(bool, option(slices));
const boolBool = of(bool, bool);
const idBool = of(u64, bool);
const sanctum = of(u8, u8, u32, u32);
const oneLst = of(u8, u32);
const hylo = unitEnum(8);
const tranche = unitEnum(2);
const routed = of(u64, 32, 16, bool);
const routedV2 = of(u64, u64, 32, 16, bool);
const routedV3 = of(u64, u64, u64, u64, 32, 16, bool);
const filled = of(side, { list: u8, most: MOST_BYTES });

const candidate: Kind = {
  tagged: [
    ...[idBool, side, idBool, none, none, bool, none, bool, bool, bool], // 0 HumidiFi
    ...[boolSlices, none, bool, none, side, routed, routedV2, routedV3, none], // 10 WhirlpoolV2
  ],
};
const candidates = of(list(candidate), option(u8));
const candidatesV2 = of(list(of(candidate, u32)), u8, u8);

/**
 * Jupiter's `Swap` by tag, as its program publishes it (October 2026, 197 variants; new variants
 * come at the end). Each row names its first variant. JupiterLendDexSwap (165), Gatorswap (166) and
 * Denali (168) are `undefined`, because they are said to read other bytes than published.
 */
export const swapKind: Kind = {
  tagged: [
    ...[none, none, none, none, none, none, none, none, bool, none], // 0 Saber
    ...[none, none, side, none, none, side, side, bool, bool, none], // 10 Mercurial
    ...[none, bool, none, bool, side, none, none, side, side, of(u64, u64)], // 20 GooseFX
    ...[none, none, none, u32, none, none, none, none, none, side], // 30 TokenSwapV2
    // 40 RaydiumClmmV2
    ...[none, u32, of(u8, bool, bool), sanctum, oneLst, oneLst, none, boolSlices, none, none],
    ...[none, none, none, none, none, none, none, none, bool, none], // 50 PumpWrappedSell
    ...[bool, bool, none, none, side, none, none, none, none, none], // 60 FoxClaimPartial
    ...[none, of(u8, u8), none, none, none, slices, none, none, none, none], // 70 VirtualsSell
    // 80 StabbleWeightedSwapV2
    ...[none, u64, u64, none, none, side, of(bool, u8), idBool, none, side],
    ...[none, none, none, none, bool, bool, none, none, none, none], // 90 PumpWrappedBuyV2
    ...[none, none, none, boolSlices, bool, none, bool, side, none, none], // 100 PumpSwapSellV3
    ...[side, candidates, none, none, none, none, side, bool, idBool, bool], // 110 WhaleStreet
    // 120 JupiterRfqV2
    ...[filled, bool, u128, of(40, u64), none, side, of(side, u64, u64), bool, none, bool],
    ...[none, none, hylo, none, none, sanctum, bool, none, none, none], // 130 Omnipair
    ...[none, bool, none, none, none, bool, candidatesV2, none, none, none], // 140 ScaleAmmSell
    // 150 PumpWrappedSellV4WithCashbackClaim
    ...[none, bool, bool, bool, none, of(side, bool), none, idBool, none, u64],
    // 160 KipseliV2
    ...[bool, of(side, u32), bool, none, bool, undefined, undefined, boolBool, undefined, none],
    // 170 PerenaStarV2WithdrawFromExternal
    ...[u8, unitEnum(3), hylo, none, side, none, none, bool, side, none],
    // 180 BinaryFiV2
    ...[none, bool, tranche, of(tranche, option(u8)), bool, routed, routedV2, boolBool, none, bool],
    ...[routedV3, boolBool, bool, bool, bool, none, bool], // 190 HumidiFiRouterV3
  ],
};

// A swap, its percentage of the input, and the indexes of its input and output.
const plan = list(of(swapKind, u8, u8, u8));

/**
 * Bytes of the numbers that follow the plan in every V1 form: two amounts (u64), the slippage (u16)
 * and the platform fee (u8), both in basis points.
 */
export const NUMBERS_V1_BYTES = u64 + u64 + u16 + u8;

/** Returns the end of values that follow each other from `from`. */
function sequenceEnd(kinds: readonly Kind[], data: Uint8Array, from: number): number | undefined {
  return kinds.reduce<number | undefined>(
    (at, kind) => (at === undefined ? undefined : valueEnd(kind, data, at)),
    from,
  );
}

function listEnd(entry: Kind, most: number, data: Uint8Array, from: number): number | undefined {
  if (from + u32 > data.length) return undefined;
  const count = new DataView(data.buffer, data.byteOffset + from, u32).getUint32(0, true);
  return count > most
    ? undefined
    : sequenceEnd(new Array<Kind>(count).fill(entry), data, from + u32);
}

function valueEnd(kind: Kind, data: Uint8Array, from: number): number | undefined {
  if (typeof kind === 'number') return from + kind > data.length ? undefined : from + kind;
  if ('fields' in kind) return sequenceEnd(kind.fields, data, from);
  if ('list' in kind) return listEnd(kind.list, kind.most, data, from);
  const tag = data[from];
  const tagged = tag === undefined ? undefined : kind.tagged[tag];
  return tagged === undefined ? undefined : valueEnd(tagged, data, from + 1);
}

/**
 * Returns the end of the route plan of a V1 swap that begins at `from`; undefined if the program
 * could not read a byte of it that way.
 *
 * The program ignores bytes after its arguments, so numbers at the end of the data prove nothing.
 * The amounts that count come right after the plan, and nothing may follow them.
 */
export function routePlanEnd(data: Uint8Array, from: number): number | undefined {
  return valueEnd(plan, data, from);
}
