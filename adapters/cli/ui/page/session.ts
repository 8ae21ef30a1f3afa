/** How the page asks the service. The token is of this tab alone, and no cookie. */
const TOKEN = 'exact-change token';

export class SignedOut extends Error {}

/** Takes the code out of the address, and a token for it. Whether there is a token now. */
export async function resume(): Promise<boolean> {
  const code = location.hash.slice(1);
  if (/^[\w-]{43}$/.test(code)) {
    history.replaceState(null, '', location.pathname);
    if (await signIn(code)) return true;
  }
  return sessionStorage.getItem(TOKEN) !== null;
}

/** Opens a session by a code of the terminal, or the key of the service. */
export async function signIn(secret: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${secret}` };
  const response = await fetch('./session', { method: 'POST', headers });
  if (!response.ok) return false;
  const { token } = (await response.json()) as { token: string }; // Of our own service.
  sessionStorage.setItem(TOKEN, token);
  return true;
}

/** Asks for something. Throws {@link SignedOut} if the session is over. */
export async function ask(
  name: string,
  query: Readonly<Record<string, string>> = {},
  signal?: AbortSignal,
): Promise<Response> {
  const headers = { authorization: `Bearer ${sessionStorage.getItem(TOKEN) ?? ''}` };
  const given = Object.entries(query).filter(([, value]) => value !== '');
  const url = `./${name}?${new URLSearchParams(given).toString()}`;
  const response = await fetch(url, { headers, ...(signal && { signal }) });
  if (response.status === 401) {
    sessionStorage.removeItem(TOKEN);
    throw new SignedOut();
  }
  if (!response.ok) throw new Error(`The service answered ${response.status}.`);
  return response;
}

/**
 * Calls with each change, until the connection ends. A stream of `fetch`: an `EventSource` sends no
 * header.
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
