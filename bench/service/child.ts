import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { local } from 'exact-change';
import { apiKeys, createHandler } from 'exact-change/http';
import { serve } from 'exact-change/node';
import { createSandbox } from 'exact-change-sandbox';
import { API_KEY, type Answer, type Chain, type Figures, type Role } from './roles.js';

// One part of a run in a process of its own, as its first message says: the chain with its
// aggregator, the service, or a bare server of node:http.

const SAMPLE_MS = 100;
const WALLETS = 20;

let peak = 0;
setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), SAMPLE_MS);
const figures = (): Figures => {
  const { user, system } = process.cpuUsage();
  const rss = process.memoryUsage.rss();
  return { rss, peak: Math.max(peak, rss), cpuMs: (user + system) / 1_000 };
};

process.once('message', (role) => {
  process.on('message', () => process.send?.(figures()));
  void started(role as Role).then((facts) => process.send?.(facts)); // Only roles.ts sends one.
});
process.on('disconnect', () => process.exit());

async function started(is: Role): Promise<object> {
  switch (is.kind) {
    case 'chain':
      return chain();
    case 'bare':
      return { url: await bare(new Map(is.answers)) };
    case 'service': {
      const { rpcUrl, jupiterUrl, cached } = is;
      const caching = cached ? {} : { quoteCacheMs: 0, balanceCacheMs: 0 };
      const onError = (error: unknown) => console.error(error);
      const handler = createHandler(local({ rpcUrl, jupiterUrl }), {
        authorize: apiKeys([API_KEY]),
        onError,
        ...caching,
      });
      const { url } = await serve(handler, { port: 0 });
      return { url };
    }
  }
}

async function chain(): Promise<Chain> {
  const { rpcUrl, jupiterUrl, apiUrl, createWallet } = await createSandbox({ confirmationMs: 20 });
  const wallets = await Promise.all(
    Array.from({ length: WALLETS }, () => createWallet({ SOL: '10', BONK: '1000000', PYUSD: '5' })),
  );
  const response = await fetch(`${apiUrl}/any`);
  const paymentRequired = {
    url: response.url,
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: await response.text(),
  };
  return { rpcUrl, jupiterUrl, wallets: wallets.map(({ address }) => address), paymentRequired };
}

/** Answers with the bytes that the service gave, and does nothing for them but read the request. */
async function bare(answers: ReadonlyMap<string, Answer>): Promise<string> {
  const server = createServer((message, outgoing) => {
    let body = '';
    message.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    message.on('end', () => {
      const answer = answers.get(`${message.method} ${message.url} ${body}`);
      outgoing.writeHead(answer?.status ?? 500, answer?.headers).end(answer?.body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // A bound TCP server's address is never a pipe's name or null.
  const { port } = server.address() as AddressInfo;
  return `http://127.0.0.1:${port}`;
}
