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

/** The members of a Fastify request that are used. */
export interface FastifyLikeRequest {
  readonly raw: IncomingMessage;
  readonly originalUrl: string;
  readonly protocol: string;
  readonly ip: string;
}
/** The members of a Fastify reply that are used. */
export interface FastifyLikeReply {
  readonly raw: ServerResponse;
  hijack(): unknown;
}

/** The members of a Fastify 5 instance that are used. */
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
 * Serves a handler as a plugin of Fastify 5. Register it under a prefix that is the handler's
 * `basePath`. Below the prefix, hooks of the app run; its body parsers do not.
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
    // The handler reads and bounds bodies itself.
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', (_request, _payload, onParsed) => onParsed(null));
    app.all('/', answer);
    app.all('/*', answer);
    done();
  };
}
