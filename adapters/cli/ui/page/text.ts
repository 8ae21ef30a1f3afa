/** `$0.25`; exact, of decimal text. */
export function usdText(usd: string): string {
  const [whole = '0', fraction = ''] = usd.split('.');
  return `$${whole}.${fraction.padEnd(2, '0')}`;
}

const SOL_DECIMALS = 9;

/** Lamports as SOL; exact. */
export function solText(lamports: string): string {
  const digits = lamports.padStart(SOL_DECIMALS + 1, '0');
  const fraction = digits.slice(-SOL_DECIMALS).replace(/0+$/, '');
  return `${digits.slice(0, -SOL_DECIMALS)}${fraction && `.${fraction}`} SOL`;
}

/** An address, as far as people compare it. */
export function short(address: string): string {
  return address.length > 12 ? `${address.slice(0, 4)}…${address.slice(-4)}` : address;
}

export function countText(count: number, one: string, many: string): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}

/** A time of the reader's own clock, with the exact one behind it. */
export function timeOf(at: number): HTMLElement {
  const date = new Date(at);
  const made = document.createElement('time');
  made.dateTime = date.toISOString();
  made.title = date.toISOString();
  made.textContent = date.toLocaleString([], { dateStyle: 'short', timeStyle: 'medium' });
  return made;
}

/** A link to an explorer, which learns nothing of this page. */
export function chainLink(href: string, about: string): HTMLElement {
  const made = document.createElement('a');
  made.href = href;
  made.rel = 'noreferrer noopener';
  made.target = '_blank';
  made.textContent = about;
  return made;
}
