// Starts web frameworks with a mount. Copied beside the packages.
import { createServer } from 'node:http';

/** Starts a Fastify server with the plugin and a route of its own. */
export async function inFastify(plugin) {
  const { default: fastify } = await import('fastify');
  const app = fastify({ trustProxy: true });
  app.addHook('onSend', async (_request, reply) => void reply.header('x-hook', 'ran'));
  app.register(plugin, { prefix: '/pay' });
  app.get('/other', async () => 'other');
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  return { url: `${url}/pay`, close: () => app.close() };
}

/** Makes a Koa server with or without a body parser. */
export async function inKoa(middleware, parses) {
  const { default: Koa } = await import('koa');
  const { default: bodyParser } = await import('koa-bodyparser');
  const app = new Koa({ proxy: true });
  app.silent = true;
  app.use((context, next) => (context.set('x-hook', 'ran'), next()));
  if (parses) app.use(bodyParser({ onerror: () => undefined, enableTypes: ['json', 'text'] }));
  app.use(middleware);
  app.use((context) => {
    if (context.path === '/other') context.body = 'other';
  });
  return createServer(app.callback());
}
