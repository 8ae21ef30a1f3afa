/** The result of a check. */
export interface Finding {
  readonly check: string;
  /** `warn`: payments work, but there is a problem to know about. */
  readonly state: 'ok' | 'warn' | 'fail';
  readonly says: string;
  /** How to fix the problem. */
  readonly next?: string;
}

export const ok = (check: string, says: string): Finding => ({ check, state: 'ok', says });
export const warn = (check: string, says: string, next: string): Finding => ({
  ...{ check, state: 'warn', says, next },
});
export const fail = (check: string, says: string, next: string): Finding => ({
  ...{ check, state: 'fail', says, next },
});
