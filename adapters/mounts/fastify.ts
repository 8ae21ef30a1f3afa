/**
 * A service in Fastify.
 *
 * @module exact-change/fastify
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FetchHandler } from './fetch-handler.js';
import { answerTo } from './node/exchange.js';

export { clientAddress } from './node/incoming.js';
export type { FetchHandler } from './fetch-handler.js';

/** What is used of a request and a reply of Fastify. */
export interface FastifyLikeRequest {
  readonly raw: IncomingMessage;
  readonly originalUrl: string;
  readonly protocol: string;
  readonly ip: string;
}
export interface FastifyLikeReply {
  readonly raw: ServerResponse;
  hijack(): unknown;
}

/** What is used of an instance of Fastify 5. */
export interface FastifyLike {
  removeAllContentTypeParsers(): void;
  addContentTypeParser(
    type: string,
    parse: (
      request: FastifyLikeRequest,
      payload: IncomingMessage,
      done: (error: Error | null, body?: undefined) => void,
    ) => void,
  ): unknown;
  all(
    path: string,
    answer: (request: FastifyLikeRequest, reply: FastifyLikeReply) => Promise<Response | undefined>,
  ): unknown;
}

/**
 * Serves a handler as a plugin of Fastify 5. The prefix under which it is registered is the path
 * that the handler has. Parsers of bodies do not reach what is below it; hooks do.
 *
 * @example
 * app.register(fastifyHandler(createHandler(local(), { basePath: '/pay' })), { prefix: '/pay' });
 */
export function fastifyHandler(
  handler: FetchHandler,
): (app: FastifyLike, options: object, done: () => void) => void {
  return (app, _options, done) => {
    const answer = async (
      { raw, originalUrl: target, protocol: scheme, ip: address }: FastifyLikeRequest,
      reply: FastifyLikeReply,
    ) => {
      const response = await answerTo(handler, raw, reply.raw, { target, scheme, address });
      if (response === undefined) reply.hijack();
      return response;
    };
    // The handler reads bodies by itself, and bounds them.
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', (_request, _payload, parsed) => parsed(null));
    app.all('/', answer);
    app.all('/*', answer);
    done();
  };
}
