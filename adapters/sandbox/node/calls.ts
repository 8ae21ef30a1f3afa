/** Filter of the calls to count; a field that is left out matches every call. */
export interface CallFilter {
  readonly method?: string;
  /** Name of the caller, which it sends in the query `?caller=` or the header `x-caller`. */
  readonly caller?: string;
}

/** Counts every call that reached the node, also calls that met a fault. */
export class Calls {
  private counts: { readonly method: string; readonly caller: string; count: number }[] = [];

  add(method: string, caller: string): void {
    const known = this.counts.find((entry) => entry.method === method && entry.caller === caller);
    if (known) known.count += 1;
    else this.counts.push({ method, caller, count: 1 });
  }

  count({ method, caller }: CallFilter = {}): number {
    return this.counts
      .filter(
        (entry) =>
          (method ?? entry.method) === entry.method && (caller ?? entry.caller) === entry.caller,
      )
      .reduce((sum, entry) => sum + entry.count, 0);
  }

  byMethod(caller?: string): Record<string, number> {
    const methods = this.counts
      .filter((entry) => (caller ?? entry.caller) === entry.caller)
      .map(({ method }) => method);
    return Object.fromEntries(
      methods.map((method) => [
        method,
        this.count(caller === undefined ? { method } : { method, caller }),
      ]),
    );
  }

  reset(): void {
    this.counts = [];
  }
}
