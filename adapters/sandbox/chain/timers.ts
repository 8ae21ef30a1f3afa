/** Timers that one call ends, so that a closed sandbox leaves nothing running. */
export class Timers {
  private readonly pending = new Set<NodeJS.Timeout>();
  private closed = false;

  /** Runs `task` after `ms`, at once for 0. Returns how to call it off. */
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
