/** Timers that `close` ends together, so that a closed sandbox leaves no timer. */
export class Timers {
  private readonly pending = new Set<NodeJS.Timeout>();
  private closed = false;

  /** Runs `task` after `ms`, or at once if `ms` is 0. Returns a function that cancels it. */
  after(ms: number, task: () => void): () => void {
    if (this.closed) return () => undefined;
    if (ms <= 0) {
      task();
      return () => undefined;
    }
    const timer = setTimeout(() => {
      this.pending.delete(timer);
      task();
    }, ms);
    this.pending.add(timer);
    return () => {
      clearTimeout(timer);
      this.pending.delete(timer);
    };
  }

  close(): void {
    this.closed = true;
    for (const timer of this.pending) clearTimeout(timer);
    this.pending.clear();
  }
}
