/** Whether a host, as `URL` spells it, is this machine: what goes there passes no network. */
export function isLoopback(hostname: string): boolean {
  return /^(localhost|127(\.[0-9]{1,3}){3}|\[::1\])$/.test(hostname);
}

/**
 * Whether a response is of another origin than the page or worker that asked, so that a browser
 * shows and sends only what the seller allows (CORS). Node calls what was redirected to another
 * origin that, too, but has no page.
 */
export function isCrossOrigin({ type }: Pick<Response, 'type'>): boolean {
  return type === 'cors' && 'location' in globalThis;
}
