/** A limit over a sliding window, as Jupiter's gateway has it. */
export interface RateLimit {
  readonly requests: number;
  readonly windowMs: number;
}

/** Counts calls in a sliding window. A refused call does not count, so it causes no lockout. */
export class RateLimiter {
  #limit: RateLimit | undefined;
  #calls: number[] = [];

  set(limit: RateLimit | undefined): void {
    this.#limit = limit;
    this.#calls = [];
  }

  /** Counts a call at `now` (milliseconds). Returns whether it passes, and the answer's headers. */
  take(now: number): {
    readonly passes: boolean;
    readonly headers: Readonly<Record<string, string>>;
  } {
    const limit = this.#limit;
    if (limit === undefined) return { passes: true, headers: {} };
    this.#calls = this.#calls.filter((at) => at > now - limit.windowMs);
    const passes = this.#calls.length < limit.requests;
    const current = this.#calls.length + 1;
    if (passes) this.#calls.push(now);
    const oldest = this.#calls[0] ?? now;
    return {
      passes,
      headers: {
        'x-ratelimit-current': String(current),
        'x-ratelimit-remaining': String(limit.requests - current),
        'x-ratelimit-reset': String(Math.ceil((oldest + limit.windowMs) / 1000)),
      },
    };
  }
}

/** Body of the answer of Jupiter's gateway to a call above the limit. */
export const TOO_MANY_REQUESTS = { code: 429, message: '[API Gateway] Too many requests' } as const;
