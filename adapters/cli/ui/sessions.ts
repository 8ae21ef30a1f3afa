import { createHash, randomBytes } from 'node:crypto';

/**
 * Which browsers may look. The terminal shows a code, once; a page hands it in for a token, which
 * it sends as the service's callers send their keys. A token is no cookie: a browser sends those to
 * every port of a machine, and what listens on another one may be another user's.
 */
export interface Sessions {
  /** A code that opens one session, within ten minutes. */
  newCode(): string;
  /** Opens a session by a code, which is used up. Undefined if there is no such code. */
  redeem(code: string): string | undefined;
  /** Opens a session for a caller that is known. */
  open(): string;
  has(token: string): boolean;
}

const CODE_MS = 600_000;
const SESSION_MS = 12 * 3_600_000;
const MOST_SESSIONS = 100;
const BYTES = 32;

/** @param now - Milliseconds since the epoch. */
export function createSessions(now: () => number): Sessions {
  // By digest, so that the time of a look tells nothing of what is there. Until when each counts.
  const codes = new Map<string, number>();
  const tokens = new Map<string, number>();
  const add = (all: Map<string, number>, ms: number): string => {
    const secret = randomBytes(BYTES).toString('base64url');
    all.set(digest(secret), now() + ms);
    const [oldest] = all.keys();
    if (all.size > MOST_SESSIONS && oldest !== undefined) all.delete(oldest);
    return secret;
  };
  const isIn = (all: Map<string, number>, secret: string): boolean =>
    (all.get(digest(secret)) ?? -Infinity) > now();
  const open = () => add(tokens, SESSION_MS);
  return {
    newCode: () => add(codes, CODE_MS),
    redeem(code) {
      const isGood = isIn(codes, code);
      codes.delete(digest(code));
      return isGood ? open() : undefined;
    },
    open,
    has: (token) => isIn(tokens, token),
  };
}

const digest = (secret: string): string => createHash('sha256').update(secret).digest('base64');
