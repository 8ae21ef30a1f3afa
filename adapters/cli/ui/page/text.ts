/** Formats decimal text as dollars without rounding: `$0.25`. */
export function usdText(usd: string): string {
  const [whole = '0', fraction = ''] = usd.split('.');
  return `$${whole}.${fraction.padEnd(2, '0')}`;
}

const SOL_DECIMALS = 9;

/** Formats lamports as SOL without rounding. */
export function solText(lamports: string): string {
  const digits = lamports.padStart(SOL_DECIMALS + 1, '0');
  const fraction = digits.slice(-SOL_DECIMALS).replace(/0+$/, '');
  return `${digits.slice(0, -SOL_DECIMALS)}${fraction && `.${fraction}`} SOL`;
}

/** Shortens an address to its first and last four letters, which people compare. */
export function short(address: string): string {
  return address.length > 12 ? `${address.slice(0, 4)}…${address.slice(-4)}` : address;
}

export function countText(count: number, one: string, many: string): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}

/** Shows a time in the reader's time zone; its title has the exact UTC time. */
export function timeOf(at: number): HTMLElement {
  const date = new Date(at);
  const time = document.createElement('time');
  time.dateTime = date.toISOString();
  time.title = date.toISOString();
  time.textContent = date.toLocaleString([], { dateStyle: 'short', timeStyle: 'medium' });
  return time;
}

/** Makes a link to an explorer. The explorer learns nothing of this page. */
export function chainLink(href: string, label: string): HTMLElement {
  const link = document.createElement('a');
  link.href = href;
  link.rel = 'noreferrer noopener';
  link.target = '_blank';
  link.textContent = label;
  return link;
}
