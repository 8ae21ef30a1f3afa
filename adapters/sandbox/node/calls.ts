/** Which calls to count; what is left out counts all. */
export interface CallFilter {
  readonly method?: string;
  /** As callers name themselves, by the query `?caller=` or the header `x-caller`. */
  readonly caller?: string;
}

/** Every call that reached the node, also those that met a fault. */
export class Calls {
  private list: { readonly method: string; readonly caller: string }[] = [];

  add(method: string, caller: string): void {
    this.list.push({ method, caller });
  }

  count({ method, caller }: CallFilter = {}): number {
    return this.list.filter((call) => (method ?? call.method) === call.method && (caller ?? call.caller) === call.caller).length;
  }

  byMethod(caller?: string): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const call of this.list) {
      if ((caller ?? call.caller) === call.caller) counts[call.method] = (counts[call.method] ?? 0) + 1;
    }
    return counts;
  }

  reset(): void {
    this.list = [];
  }
}
