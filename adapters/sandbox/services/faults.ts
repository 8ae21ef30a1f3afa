import type { Fault } from '../types.js';

/**
 * Controls that every service has. An endpoint is a method and a path (`GET /swap/v1/quote`), a
 * path (`/settle`), or `*` for all.
 */
export interface ServiceControls {
  /**
   * Adds a fault. Faults of an endpoint apply in the order in which they were added, each for its
   * number of `times`. Returns a function that removes the fault.
   */
  fault(endpoint: string, fault: Fault): () => void;
  /** Ends all faults and all latency. */
  clearFaults(): void;
  /** Delays every answer of an endpoint by `milliseconds`; 0 ends the delay. */
  setLatency(milliseconds: number, endpoint?: string): void;
  /**
   * Returns the number of calls to an endpoint since the start or {@link resetCalls}, refused and
   * failed calls included.
   */
  calls(endpoint?: string): number;
  resetCalls(): void;
}

/** The controls of a service; its server passes each call to {@link admit}. */
export class FaultBoard implements ServiceControls {
  #faults: { readonly endpoint: string; readonly fault: Fault; left: number }[] = [];
  readonly #latency = new Map<string, number>();
  readonly #calls = new Map<string, number>();

  fault(endpoint: string, fault: Fault): () => void {
    const entry = { endpoint, fault, left: fault.times ?? Infinity };
    this.#faults.push(entry);
    return () => {
      this.#faults = this.#faults.filter((other) => other !== entry);
    };
  }

  clearFaults(): void {
    this.#faults = [];
    this.#latency.clear();
  }

  setLatency(milliseconds: number, endpoint = '*'): void {
    this.#latency.set(endpoint, milliseconds);
  }

  calls(endpoint = '*'): number {
    return this.#calls.get(endpoint) ?? 0;
  }

  resetCalls(): void {
    this.#calls.clear();
  }

  /** Counts a call, and returns the fault and the latency that apply to it. */
  admit(
    method: string,
    path: string,
  ): { readonly fault: Fault | undefined; readonly latency: number } {
    const names = [`${method} ${path}`, path, '*'];
    for (const name of names) this.#calls.set(name, this.calls(name) + 1);
    const latency =
      names.map((name) => this.#latency.get(name)).find((value) => value !== undefined) ?? 0;
    return { fault: this.#take(names), latency };
  }

  #take(names: readonly string[]): Fault | undefined {
    const entry = this.#faults.find(({ endpoint }) => names.includes(endpoint));
    if (entry === undefined) return undefined;
    entry.left -= 1;
    if (entry.left <= 0) this.#faults = this.#faults.filter((other) => other !== entry);
    return entry.fault;
  }
}
