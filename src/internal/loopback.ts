/** Whether a host, as `URL` spells it, is this machine: what goes there passes no network. */
export function isLoopback(hostname: string): boolean {
  return /^(localhost|127(\.[0-9]{1,3}){3}|\[::1\])$/.test(hostname);
}
