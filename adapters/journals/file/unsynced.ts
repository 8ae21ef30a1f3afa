import type { FileRecord } from '../log/records.js';

/** A step that counts, but is not on the disk yet. */
export interface UnsyncedStep {
  readonly ids: readonly string[];
  /** Whether a later record names an attempt of the step. */
  isSuperseded: boolean;
}

/**
 * Watches the steps that are not on the disk yet. If a sync fails late, the caller of its step may
 * have given up before, and another call may have presented the payment since.
 */
export class UnsyncedSteps {
  private readonly steps = new Set<UnsyncedStep>();

  /** Begins to watch a step, by the records that would revert it. */
  begin(inverse: readonly FileRecord[]): UnsyncedStep {
    const step = { ids: inverse.flatMap(attemptIdsIn), isSuperseded: false };
    this.steps.add(step);
    return step;
  }

  end(step: UnsyncedStep): void {
    this.steps.delete(step);
  }

  /** Notes records that count. */
  note(records: readonly FileRecord[]): void {
    if (this.steps.size === 0) return;
    const named = new Set(records.flatMap(attemptIdsIn));
    for (const step of this.steps) step.isSuperseded ||= step.ids.some((id) => named.has(id));
  }
}

function attemptIdsIn(record: FileRecord): readonly string[] {
  if ('put' in record) return [record.put.id];
  if ('release' in record) return [record.release];
  if ('claim' in record) return record.claim;
  return 'drop' in record ? record.drop : [];
}
