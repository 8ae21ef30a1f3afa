// Mounts the packed package in the web framework of the given folder: the service must answer below
// its path, and the framework beside it.
const assert = require('node:assert/strict');
const { createServer } = require('node:http');
const { local } = require('exact-change');
const { createHandler } = require('exact-change/http');

const [, , name, folder] = process.argv;
const handler = createHandler(local({ rpcUrl: 'http://127.0.0.1:9' }), { basePath: '/pay' });
const terms = JSON.stringify({ body: { x402Version: 1, accepts: 7 } });

function inExpress(framework, parse) {
  const { expressHandler } = require('exact-change/express');
  const app = framework();
  if (parse !== undefined) app.use(parse);
  app.use('/pay', expressHandler(handler));
  app.get('/other', (_, response) => response.send('other'));
  const server = createServer(app);
  return new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      resolve({
        ask: (path, init) => fetch(`http://127.0.0.1:${port}${path}`, init),
        close: () => server.close(),
      });
    }),
  );
}

async function inHono({ Hono }, reads) {
  const { honoHandler } = require('exact-change/hono');
  const app = new Hono();
  if (reads) app.use('*', ({ req }, next) => req.text().then(next));
  app.all('/pay/*', honoHandler(handler));
  app.get('/other', (context) => context.text('other'));
  return {
    ask: async (path, init) => app.request(`http://shop.example${path}`, init),
    close: () => undefined,
  };
}

function mounts() {
  const framework = require(folder);
  if (name.startsWith('hono')) return [inHono(framework, false), inHono(framework, true)];
  // Express has its own parsers since 4.16.
  const parsers = name === 'express-4.3' ? [] : [framework.json(), framework.text({ type: '*/*' })];
  return [undefined, ...parsers].map((parse) => inExpress(framework, parse));
}

async function check(mount) {
  const { ask, close } = await mount;
  const health = await ask('/pay/api/health');
  assert.deepEqual([health.status, await health.json()], [200, { status: 'ok' }]);
  const headers = { 'content-type': 'application/json' };
  const refused = await ask('/pay/api/x402/parse-payment', {
    method: 'POST',
    headers,
    body: terms,
  });
  assert.deepEqual(
    [refused.status, (await refused.json()).code],
    [422, 'malformed_payment_required'],
  );
  assert.equal((await ask('/pay/api/nothing')).status, 404);
  assert.equal(await (await ask('/other')).text(), 'other');
  close();
}

Promise.all(mounts().map(check)).then((checked) => console.log(`${checked.length} mounts`));
