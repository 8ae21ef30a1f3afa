/** Key of the session token in the tab's sessionStorage, so it is no cookie of other tabs. */
const TOKEN = 'exact-change token';

export class SignedOut extends Error {}

/**
 * Removes the code from the page's URL and exchanges it for a token. Resolves with true if the page
 * has a token.
 */
export async function resume(): Promise<boolean> {
  const code = location.hash.slice(1);
  if (/^[\w-]{43}$/.test(code)) {
    history.replaceState(null, '', location.pathname);
    if (await signIn(code)) return true;
  }
  return sessionStorage.getItem(TOKEN) !== null;
}

/** Opens a session with a code from the terminal, or with the key of the service. */
export async function signIn(secret: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${secret}` };
  const response = await fetch('./session', { method: 'POST', headers });
  if (!response.ok) return false;
  const { token } = (await response.json()) as { token: string }; // The service sends it.
  sessionStorage.setItem(TOKEN, token);
  return true;
}

/** Requests data from the service. Throws {@link SignedOut} if the session is over. */
export async function ask(
  name: string,
  query: Readonly<Record<string, string>> = {},
  signal?: AbortSignal,
): Promise<Response> {
  const headers = { authorization: `Bearer ${sessionStorage.getItem(TOKEN) ?? ''}` };
  const parameters = Object.entries(query).filter(([, value]) => value !== '');
  const url = `./${name}?${new URLSearchParams(parameters).toString()}`;
  const response = await fetch(url, { headers, ...(signal && { signal }) });
  if (response.status === 401) {
    sessionStorage.removeItem(TOKEN);
    throw new SignedOut();
  }
  if (!response.ok) throw new Error(`The service answered ${response.status}.`);
  return response;
}

/**
 * Calls `changed` at each change, until the connection ends. It reads a stream of `fetch`, because
 * an `EventSource` sends no headers.
 */
export async function hearChanges(changed: () => void): Promise<void> {
  const { body } = await ask('changes');
  if (body === null) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const events = (rest + part.value).split('\n\n');
    rest = events.pop() ?? '';
    if (events.some((event) => event.startsWith('event: change'))) changed();
  }
}
