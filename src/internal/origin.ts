/** Whether a host, as `URL` spells it, is this machine: a request to it passes no network. */
export function isLoopback(hostname: string): boolean {
  return /^(localhost|127(\.[0-9]{1,3}){3}|\[::1\])$/.test(hostname);
}

/**
 * Whether a response is from another origin than the page or worker, so that a browser shows and
 * sends only what the seller allows (CORS). Node gives the same type to a response that was
 * redirected to another origin, but Node has no page.
 */
export function isCrossOrigin({ type }: Pick<Response, 'type'>): boolean {
  return type === 'cors' && 'location' in globalThis;
}

/**
 * Whether a redirect led to a response of a request to `asked`. The fetch of React Native has no
 * `redirected`, so only the URL of its response shows that.
 */
export function isRedirected(
  { url, redirected }: { readonly url: string; readonly redirected?: boolean },
  asked: string,
): boolean {
  const page = (address: string) => address.replace(/#.*/s, '');
  return redirected ?? (url !== '' && page(url) !== page(asked));
}
