import { isRecord } from '../../../src/internal/record.js';

/** Identifies a process beyond doubt, also after its pid is used again. */
export interface ProcessId {
  /** 32 hex digits, random. */
  readonly id: string;
  readonly pid: number;
  /** When the process started, if the system tells: systems use pids again. */
  readonly start?: string;
  /**
   * Where the pid is valid: the host and, if the system tells, the process namespace (each
   * container has its own).
   */
  readonly host: string;
  /** The id of the running kernel, if the system tells; each boot has a new id. */
  readonly kernel?: string;
  /** The volume of the directory, as this kernel knows it. */
  readonly volume?: string;
  /**
   * Name of the process's file in the directory, until it ends: a socket on which it listens, or a
   * plain file if sockets do not work there.
   */
  readonly sign: string;
}

const SIGN = /^\.[0-9a-f]{32}\.(sock|seat)$/;

/** Whether parsed JSON is a process id. `SIGN` matters: the file of that name is later removed. */
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
