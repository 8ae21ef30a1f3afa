import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { local } from 'exact-change';
import { apiKeys, createHandler } from 'exact-change/http';
import { serve } from 'exact-change/node';
import { answer } from '../process.js';
import { API_KEY } from './mix.js';
import type { Answer } from './open-loop.js';

// Runs a service alone in its process, or a bare node:http server with the same answers.

const service = {
  async serve(rpcUrl: string, jupiterUrl: string, isCached: boolean) {
    const caching = isCached ? {} : { quoteCacheMs: 0, balanceCacheMs: 0 };
    const handler = createHandler(local({ rpcUrl, jupiterUrl }), {
      authorize: apiKeys([API_KEY]),
      onError: (error: unknown) => console.error(error),
      ...caching,
    });
    return (await serve(handler, { port: 0 })).url;
  },
  /** Starts a server that only reads the request and answers with the service's bytes. */
  async bare(answers: ReadonlyMap<string, Answer>) {
    const server = createServer((message, outgoing) => {
      let body = '';
      message.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
      message.on('end', () => {
        const found = answers.get(`${message.method} ${message.url} ${body}`);
        outgoing.writeHead(found?.status ?? 500, found?.headers).end(found?.body);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    // A bound TCP server's address is never a pipe's name or null.
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  },
};

export type Service = typeof service;
answer(service);
