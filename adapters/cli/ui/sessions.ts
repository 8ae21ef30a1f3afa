import { createHash, randomBytes } from 'node:crypto';

/**
 * The sessions of browsers. The terminal shows a code, and the page exchanges the code for a token.
 * The page sends the token as a bearer token, not as a cookie: a browser sends cookies to every
 * port of a machine, and another user's process may listen on another port.
 */
export interface Sessions {
  /** Returns a code that opens one session, within ten minutes. */
  newCode(): string;
  /** Uses up a code and returns a session's token; undefined if the code is not valid. */
  redeem(code: string): string | undefined;
  /** Opens a session for a caller with a valid key, and returns its token. */
  open(): string;
  has(token: string): boolean;
}

const CODE_MS = 600_000;
const SESSION_MS = 12 * 3_600_000;
const MOST_SESSIONS = 100;
const BYTES = 32;

/** @param now - Milliseconds since the epoch. */
export function createSessions(now: () => number): Sessions {
  // End of validity by digest of the secret: with digests, the time of a lookup reveals no secret.
  const codes = new Map<string, number>();
  const tokens = new Map<string, number>();
  const add = (secrets: Map<string, number>, ms: number): string => {
    const secret = randomBytes(BYTES).toString('base64url');
    secrets.set(digest(secret), now() + ms);
    const [oldest] = secrets.keys();
    if (secrets.size > MOST_SESSIONS && oldest !== undefined) secrets.delete(oldest);
    return secret;
  };
  const isIn = (secrets: Map<string, number>, secret: string): boolean =>
    (secrets.get(digest(secret)) ?? -Infinity) > now();
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
