import type { Fault } from '../types.js';

/**
 * What can be done to a service from outside. An endpoint is `GET /swap/v1/quote`, a path alone
 * (`/settle`), or `*` for all.
 */
export interface ServiceControls {
  /**
   * Injects a fault; several at one endpoint come in the order they were ordered, each its number
   * of times. Returns how to call it off.
   */
  fault(endpoint: string, fault: Fault): () => void;
  /** Ends all faults and all latency. */
  clearFaults(): void;
  /** Holds every answer of an endpoint back by so many milliseconds; 0 undoes it. */
  setLatency(milliseconds: number, endpoint?: string): void;
  /**
   * How often an endpoint was called since the start or {@link resetCalls}, refused and failed
   * calls included.
   */
  calls(endpoint?: string): number;
  resetCalls(): void;
}

/** The controls of one service, and what its server asks of them. */
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

  /** Counts a call and says what is to happen to it. */
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
