import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  createKeyPairSignerFromBytes,
  createSolanaRpc,
  getBase58Encoder,
  getBase64EncodedWireTransaction,
  getSignatureFromTransaction,
  getTransactionDecoder,
  partiallySignTransaction,
} from '@solana/kit';
import type { Sandbox } from 'exact-change-sandbox';
import { sleep } from './measure.js';

/** Milliseconds that each request to `/far` takes. */
export const FAR_MS = 50;
/** Path with a price of two and a half dollars. */
export const EXPENSIVE = '/expensive';
const BACKLOG = 4_096;

const toHeader = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64');

/**
 * Starts a seller that is its own facilitator: it signs as fee payer and sends, without any check.
 * It takes a tenth of the official seller's CPU, so that the client limits a crowd of payments.
 */
export async function startQuickSeller(sandbox: Sandbox): Promise<string> {
  const { secretKey, address } = await sandbox.createWallet({ SOL: '1000' });
  const signer = await createKeyPairSignerFromBytes(getBase58Encoder().encode(secretKey));
  const rpc = createSolanaRpc(sandbox.rpcUrl);
  const { headers } = await fetch(`${sandbox.apiUrl}/usdc`);
  const terms = JSON.parse(
    Buffer.from(headers.get('payment-required') ?? '', 'base64').toString(),
  ) as { resource: object; accepts: { network: string; amount: string; extra: object }[] };
  for (const offer of terms.accepts) offer.extra = { ...offer.extra, feePayer: address };

  const settle = async (header: string): Promise<object> => {
    const { payload } = JSON.parse(Buffer.from(header, 'base64').toString()) as {
      payload: { transaction: string };
    };
    const transaction = getTransactionDecoder().decode(Buffer.from(payload.transaction, 'base64'));
    const signed = await partiallySignTransaction([signer.keyPair], transaction);
    await rpc
      .sendTransaction(getBase64EncodedWireTransaction(signed), {
        encoding: 'base64',
        skipPreflight: true,
      })
      .send();
    const payer = Object.keys(signed.signatures).find((signerAddress) => signerAddress !== address);
    const { network } = terms.accepts[0]!;
    return { success: true, transaction: getSignatureFromTransaction(signed), network, payer };
  };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let size = 0;
    for await (const chunk of request) size += (chunk as Buffer).length;
    const { url = '/' } = request;
    if (url.startsWith('/far')) await sleep(FAR_MS);
    const payment = request.headers['payment-signature'];
    if (url === '/free' || typeof payment === 'string') {
      if (typeof payment === 'string')
        response.setHeader('payment-response', toHeader(await settle(payment)));
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ ok: true, size }));
      return;
    }
    const amount = url === EXPENSIVE ? '2500000' : '10000';
    const accepts = terms.accepts.map((offer) => ({ ...offer, amount }));
    const resource = { ...terms.resource, url: `${base}${url}` };
    response.setHeader('payment-required', toHeader({ ...terms, resource, accepts }));
    // Set the status without flushing the headers, so that Node adds a content length as official
    // sellers do.
    response.statusCode = 402;
    response.setHeader('content-type', 'application/json');
    response.end('{}');
  };
  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) =>
      response.writeHead(500).end(error instanceof Error ? error.stack : ''),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', BACKLOG, resolve));
  // A bound TCP server's address is never a pipe's name or null.
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return base;
}
