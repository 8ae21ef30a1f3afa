import { MINTS } from '../../mints.js';
import type { SandboxMint } from '../../types.js';
import type { Market } from './pricing.js';
import { circular, noExactOutRoute, noRoutes, notTradable } from './problems.js';

export type SwapMode = 'ExactIn' | 'ExactOut';
/** Symbol that names a market. */
export type Listed = SandboxMint['symbol'];

const SPREAD_BPS = 5n;
const DOLLAR = 10n ** 12n;
const SHALLOW: ReadonlyMap<Listed, bigint> = new Map<Listed, bigint>([
  ['PYUSD', 20_000_000n * DOLLAR],
  ['BONK', 2_000_000n * DOLLAR],
]);
const depthOf = ({ symbol }: SandboxMint): bigint => SHALLOW.get(symbol) ?? 100_000_000n * DOLLAR;

/** Controls of the markets. {@link restoreMarkets} undoes every change. */
export interface MarketControls {
  /** Sets a price, in picodollars (1e-12 US dollars) for each base unit. */
  setPrice(symbol: Listed, picoUsd: bigint): void;
  /** Refuses swaps between two tokens in this direction with NO_ROUTES_FOUND; `*` is any token. */
  noRoute(input: Listed | '*', output: Listed | '*'): void;
  /**
   * Refuses only ExactOut in this direction, as Jupiter does if no venue supports it; `*` is any
   * token.
   */
  noExactOut(input: Listed | '*', output: Listed | '*'): void;
  /** Refuses swaps from and to a token with TOKEN_NOT_TRADABLE. */
  untradable(symbol: Listed): void;
  /** Worsens prices in this direction by `bps` basis points, and reports them as price impact. */
  setPriceImpact(input: Listed, output: Listed, bps: number): void;
  restoreMarkets(): void;
}

/** The tradable mints, with their prices and their restrictions. */
export class Markets implements MarketControls {
  readonly #listed = new Map<string, SandboxMint>(MINTS.map((mint) => [mint.address, mint]));
  readonly #prices = new Map<Listed, bigint>();
  readonly #impacts = new Map<string, bigint>();
  readonly #noRoute = new Set<string>();
  readonly #noExactOut = new Set<string>();
  readonly #untradable = new Set<Listed>();

  setPrice(symbol: Listed, picoUsd: bigint): void {
    if (picoUsd <= 0n) throw new RangeError(`The price of ${symbol} must be above zero.`);
    this.#prices.set(symbol, picoUsd);
  }

  noRoute(input: Listed | '*', output: Listed | '*'): void {
    this.#noRoute.add(pair(input, output));
  }

  noExactOut(input: Listed | '*', output: Listed | '*'): void {
    this.#noExactOut.add(pair(input, output));
  }

  untradable(symbol: Listed): void {
    this.#untradable.add(symbol);
  }

  setPriceImpact(input: Listed, output: Listed, bps: number): void {
    if (!Number.isInteger(bps) || bps < 0 || bps > 10_000)
      throw new RangeError('A price impact is 0 to 10000 basis points.');
    this.#impacts.set(pair(input, output), BigInt(bps));
  }

  restoreMarkets(): void {
    for (const changed of [
      this.#prices,
      this.#impacts,
      this.#noRoute,
      this.#noExactOut,
      this.#untradable,
    ])
      changed.clear();
  }

  /** Opens a market for a mint, at the mint's price. */
  list(mint: SandboxMint): void {
    this.#listed.set(mint.address, mint);
  }

  mintAt(address: string): SandboxMint | undefined {
    return this.#listed.get(address);
  }

  /** Returns the market of a pair. Throws a refusal if there is none. */
  find(
    inputMint: string,
    outputMint: string,
    swapMode: SwapMode,
  ): { input: SandboxMint; output: SandboxMint; market: Market } {
    const input = this.#tradable(inputMint);
    const output = this.#tradable(outputMint);
    if (input.address === output.address) throw circular();
    if (matches(this.#noRoute, input.symbol, output.symbol)) throw noRoutes();
    if (swapMode === 'ExactOut' && matches(this.#noExactOut, input.symbol, output.symbol))
      throw noExactOutRoute();
    return {
      input,
      output,
      market: {
        inputPrice: this.#prices.get(input.symbol) ?? input.picoUsd,
        outputPrice: this.#prices.get(output.symbol) ?? output.picoUsd,
        spreadBps: SPREAD_BPS,
        depth: depthOf(input) < depthOf(output) ? depthOf(input) : depthOf(output),
        fixedImpactBps: this.#impacts.get(pair(input.symbol, output.symbol)),
      },
    };
  }

  #tradable(address: string): SandboxMint {
    const mint = this.mintAt(address);
    if (mint === undefined || this.#untradable.has(mint.symbol)) throw notTradable(address);
    return mint;
  }
}

const pair = (input: string, output: string): string => `${input}>${output}`;

function matches(set: ReadonlySet<string>, input: Listed, output: Listed): boolean {
  return [pair(input, output), pair(input, '*'), pair('*', output), pair('*', '*')].some((name) =>
    set.has(name),
  );
}
