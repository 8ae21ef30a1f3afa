import { createConnection, createServer, type AddressInfo, type Socket } from 'node:net';
import { inspect } from 'node:util';
import { getBase58Decoder } from '@solana/kit';
import { WebSocket, WebSocketServer } from 'ws';

/** A secret text that must not appear in output, and the name under which a find is reported. */
export interface Needle {
  readonly name: string;
  readonly text: string;
}

const base58 = (bytes: Uint8Array) => getBase58Decoder().decode(bytes);
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const listed = (bytes: Uint8Array) => Array.from(bytes).join(',');

/**
 * Returns every encoding in which a key could leak. Base58 covers the whole keypair and its secret
 * half. The other encodings cover only the secret half, because the other half is the address,
 * which is public.
 */
export function keyNeedles(keypair: Uint8Array): readonly Needle[] {
  const seed = keypair.slice(0, 32);
  return [
    { name: 'keypair in base58', text: base58(keypair) },
    { name: 'seed in base58', text: base58(seed) },
    { name: 'hex', text: hex(seed) },
    { name: 'hex in upper case', text: hex(seed).toUpperCase() },
    ...[0, 1, 2].flatMap((shift) => base64Needles(seed, shift)),
    { name: 'list of numbers', text: listed(seed) },
    {
      name: 'object of numbers',
      text: JSON.stringify(Object.fromEntries(seed.entries())).slice(1, -1),
    },
    {
      name: 'list of hex numbers',
      text: Array.from(seed, (byte) => `0x${byte.toString(16)}`).join(','),
    },
    ...rawNeedles(Buffer.from(seed).toString('latin1')),
  ];
}

/** Returns the raw bytes as a socket sends them, and as inspect() and JSON show them as text. */
function rawNeedles(bytes: string): Needle[] {
  return [
    { name: 'bytes', text: bytes },
    { name: 'bytes inspected', text: inspect(bytes).slice(1, -1) },
    { name: 'bytes in JSON', text: JSON.stringify(bytes).slice(1, -1) },
  ];
}

/** Returns the base64 characters that depend only on the seed, if it follows `shift` bytes. */
function base64Needles(seed: Uint8Array, shift: number): Needle[] {
  const text = Buffer.from([...new Uint8Array(shift), ...seed, 0]).toString('base64');
  const seedPart = text.slice(
    Math.ceil((shift * 8) / 6),
    Math.floor(((shift + seed.length) * 8) / 6),
  );
  return [
    { name: `base64 at ${shift}`, text: seedPart },
    { name: `base64url at ${shift}`, text: seedPart.replace(/\+/g, '-').replace(/\//g, '_') },
  ];
}

/** Removes the quotes, spaces and plus signs by which inspect() splits a long text. */
function squeeze(text: string): string {
  return text.replace(/\\n|[\s'"`+]/g, '');
}

/** Returns the names of the needles that the haystack contains, with or without its whitespace. */
export function findNeedles(haystack: string, needles: readonly Needle[]): string[] {
  const squeezed = squeeze(haystack);
  return needles
    .filter(({ text }) => haystack.includes(text) || squeezed.includes(squeeze(text)))
    .map(({ name }) => name);
}

/**
 * Returns all text that a log could show of a value: inspected to a depth of 10 with hidden
 * properties and getters, as JSON, and as an error's message and stack.
 */
export function exposed(value: unknown): string {
  return [
    inspect(value, { showHidden: true, depth: 10, maxArrayLength: null, maxStringLength: null }),
    inspect(value, {
      showHidden: true,
      depth: 10,
      getters: true,
      maxArrayLength: null,
      maxStringLength: null,
    }),
    serialised(value),
    value instanceof Error ? `${value.stack ?? ''}\n${value.message}` : '',
  ].join('\n');
}

function serialised(value: unknown): string {
  try {
    return (
      JSON.stringify(value, (_, part: unknown) =>
        typeof part === 'bigint' ? part.toString() : part,
      ) ?? ''
    );
  } catch {
    // The value has a cycle; inspect() shows it anyway.
    return '';
  }
}

/** Returns an error, its chain of causes, and the members of each AggregateError in it. */
export function errorChain(error: unknown): unknown[] {
  const found = new Set<unknown>();
  const walk = (value: unknown): void => {
    if (value === undefined || found.has(value)) return;
    found.add(value);
    if (typeof value !== 'object' || value === null) return;
    if ('cause' in value) walk(value.cause);
    if ('errors' in value && Array.isArray(value.errors)) value.errors.forEach(walk);
  };
  walk(error);
  return [...found];
}

/** A TCP proxy that keeps every byte of both directions. */
export interface Tap {
  readonly port: number;
  /** All bytes so far as latin1: a character for each byte. */
  readonly sent: string;
  readonly received: string;
  close(): Promise<void>;
}

/** Listens on the loopback, forwards to a port there, and records the bytes of both directions. */
export async function tap(target: number): Promise<Tap> {
  const sent: Buffer[] = [];
  const received: Buffer[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = createConnection(target, '127.0.0.1');
    for (const [from, to, kept] of [[near, far, sent] as const, [far, near, received] as const]) {
      sockets.add(from);
      from.on('data', (data: Buffer) => {
        kept.push(data);
        to.write(data);
      });
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    // A bound TCP server's address is never a pipe's name or null.
    port: (server.address() as AddressInfo).port,
    get sent() {
      return Buffer.concat(sent).toString('latin1');
    },
    get received() {
      return Buffer.concat(received).toString('latin1');
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/**
 * Does the same as {@link tap} for a WebSocket. Frames are masked on the wire, so it records the
 * messages, the requested URL and the headers.
 */
export async function tapSocket(
  target: string,
): Promise<{ readonly port: number; readonly sent: string; close(): Promise<void> }> {
  const sent: string[] = [];
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  server.on('connection', (near, request) => {
    sent.push(request.url ?? '', ...request.rawHeaders);
    const far = new WebSocket(target);
    const waiting: string[] = [];
    near.on('message', (data: Buffer) => {
      sent.push(data.toString('latin1'));
      if (far.readyState === WebSocket.OPEN) far.send(data.toString());
      else waiting.push(data.toString());
    });
    far.on('open', () => waiting.splice(0).forEach((message) => far.send(message)));
    far.on('message', (data: Buffer) => near.send(data.toString()));
    for (const [socket, peer] of [[near, far] as const, [far, near] as const]) {
      socket.on('error', () => undefined);
      socket.on('close', () => peer.terminate());
    }
  });
  await new Promise<void>((resolve) => server.once('listening', () => resolve()));
  return {
    port: (server.address() as AddressInfo).port, // Bound to TCP, so never a pipe's name or null.
    get sent() {
      return sent.join('\n');
    },
    close: () =>
      new Promise((resolve) => {
        for (const client of server.clients) client.terminate();
        server.close(() => resolve());
      }),
  };
}
