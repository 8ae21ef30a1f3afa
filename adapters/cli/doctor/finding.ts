/** What a check found out. */
export interface Finding {
  readonly check: string;
  /** `warn`: payments work, and something is to be known. */
  readonly state: 'ok' | 'warn' | 'fail';
  readonly says: string;
  /** What to do about it. */
  readonly next?: string;
}

export const ok = (check: string, says: string): Finding => ({ check, state: 'ok', says });
export const warn = (check: string, says: string, next: string): Finding => ({
  ...{ check, state: 'warn', says, next },
});
export const fail = (check: string, says: string, next: string): Finding => ({
  ...{ check, state: 'fail', says, next },
});
