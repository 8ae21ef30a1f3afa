import { isRecord } from '../../../src/internal/record.js';

/** A process, so that no other is taken for it. */
export interface ProcessId {
  /** 32 hex digits, random. */
  readonly id: string;
  readonly pid: number;
  /** When it started, if the system tells: process ids are used again. */
  readonly start?: string;
  /**
   * Where its id means something: the host and, if the system tells, the process namespace (each
   * container has its own).
   */
  readonly host: string;
  /** The kernel that it runs on, since that was started, if the system tells. */
  readonly kernel?: string;
  /** The file system of the directory, as this kernel knows it. */
  readonly volume?: string;
  /**
   * What of it is in the directory until it ends: a socket on which it listens, or a plain file if
   * there can be none.
   */
  readonly sign: string;
}

const SIGN = /^\.[0-9a-f]{32}\.(sock|seat)$/;

/** Whether parsed JSON is a process. Its sign is removed when it has ended: no other file is. */
export function isProcessId(value: unknown): value is ProcessId {
  if (!isRecord(value)) return false;
  const { id, pid: number, start, host, kernel, volume, sign } = value;
  return (
    [id, host].every((text) => typeof text === 'string') &&
    [start, kernel, volume].every((text) => text === undefined || typeof text === 'string') &&
    typeof sign === 'string' &&
    SIGN.test(sign) &&
    typeof number === 'number' &&
    Number.isInteger(number) &&
    number > 0
  );
}
