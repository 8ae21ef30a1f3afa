/**
 * Whether a response is of another origin than the page or worker that asked, so that a browser
 * shows and sends only what the seller allows (CORS). Node calls what was redirected to another
 * origin that, too, but has no page.
 */
export function isCrossOrigin({ type }: Pick<Response, 'type'>): boolean {
  return type === 'cors' && 'location' in globalThis;
}
