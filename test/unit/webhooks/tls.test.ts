import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';

const NAME = 'hooks.example.com';
const CHILD = fileURLToPath(new URL('tls.child.ts', import.meta.url));
const pathOf = (name: string) =>
  fileURLToPath(new URL(`../../fixtures/tls/${name}.pem`, import.meta.url));

interface Heard {
  /** The server name (SNI) of each completed TLS connection. */
  readonly names: (string | false)[];
  readonly requests: { readonly host: string | undefined; readonly body: string }[];
  /** Bytes received, counted after decryption. */
  bytes: number;
}

/** Starts a TLS server with a certificate of the fixtures. */
async function receiver(certificate: string): Promise<{ port: number; heard: Heard }> {
  const heard: Heard = { names: [], requests: [], bytes: 0 };
  const server = createServer(
    { key: readFileSync(pathOf('key')), cert: readFileSync(pathOf(certificate)) },
    (request, response) => {
      void text(request).then((body) => {
        heard.requests.push({ host: request.headers.host, body });
        response.writeHead(204).end();
      });
    },
  );
  server.on(
    'secureConnection',
    (socket: {
      servername?: string | false;
      on(event: 'data', heard: (chunk: Buffer) => void): unknown;
    }) => {
      heard.names.push(socket.servername ?? false);
      socket.on('data', (chunk) => (heard.bytes += chunk.length));
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { port: (server.address() as AddressInfo).port, heard }; // A bound TCP server's.
}

/**
 * Delivers in a process that trusts the test CA. Its environment disables certificate checks, which
 * the delivery must ignore.
 */
async function delivered(...urls: string[]): Promise<unknown> {
  const env = {
    ...process.env,
    NODE_EXTRA_CA_CERTS: pathOf('ca'),
    NODE_TLS_REJECT_UNAUTHORIZED: '0',
  };
  const child = spawn(process.execPath, ['--import', 'tsx', CHILD, ...urls], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return JSON.parse(await text(child.stdout));
}

describe('a delivery over TLS', () => {
  it('sends the name of the endpoint as SNI and Host to the checked address', async () => {
    const { port, heard } = await receiver('name');
    expect(await delivered(`https://${NAME}:${port}/hook`)).toEqual([204]);
    expect(heard).toMatchObject({
      names: [NAME],
      requests: [{ host: `${NAME}:${port}`, body: '{}' }],
    });
    expect(heard.bytes).toBeGreaterThan(0);
  });

  it('requires a certificate for the address when the URL has an IP address', async () => {
    const [address, name] = [await receiver('address'), await receiver('name')];
    expect(
      await delivered(`https://127.0.0.1:${address.port}/`, `https://127.0.0.1:${name.port}/`),
    ).toEqual([204, 'ERR_TLS_CERT_ALTNAME_INVALID']);
    expect([address.heard.names, address.heard.requests[0]?.host]).toEqual([
      [false],
      `127.0.0.1:${address.port}`,
    ]);
    expect([name.heard.requests, name.heard.bytes]).toEqual([[], 0]);
  });

  it('sends nothing when the certificate has a wrong name, issuer or date', async () => {
    const expected = {
      'other-name': 'ERR_TLS_CERT_ALTNAME_INVALID',
      // This certificate names the IP address, not the host.
      address: 'ERR_TLS_CERT_ALTNAME_INVALID',
      'self-signed': 'DEPTH_ZERO_SELF_SIGNED_CERT',
      expired: 'CERT_HAS_EXPIRED',
      early: 'CERT_NOT_YET_VALID',
    };
    const servers = await Promise.all(Object.keys(expected).map(receiver));
    expect(await delivered(...servers.map(({ port }) => `https://${NAME}:${port}/`))).toEqual(
      Object.values(expected),
    );
    for (const { heard } of servers) expect([heard.requests, heard.bytes]).toEqual([[], 0]);
  });
});
