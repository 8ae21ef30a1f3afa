import { encode } from 'uqr';
import { element } from './dom.js';

const SVG = 'http://www.w3.org/2000/svg';

/** Shows how to send the missing funds to the wallet: by a link here, or by QR code on a phone. */
export function fundingOf(link: string): readonly Node[] {
  return [
    element('p', {}, element('a', { href: link }, 'Open a wallet app that sends it')),
    element(
      'div',
      { class: 'qr' },
      qrCode(link, 'The same as a QR code, for the camera of a phone'),
    ),
  ];
}

function qrCode(text: string, label: string): SVGElement {
  const { size, data } = encode(text);
  const squares = data.flatMap((row, y) =>
    row.flatMap((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : [])),
  );
  const path = svg('path', { d: squares.join('') });
  const image = svg('svg', { viewBox: `0 0 ${size} ${size}`, role: 'img', 'aria-label': label });
  image.append(path);
  return image;
}

function svg(name: string, attributes: Readonly<Record<string, string>>): SVGElement {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}
