// Serves the REST interface in Deno or Bun: serve.mjs <options of the node and Jupiter>. Prints its
// URL.
import { local } from 'exact-change';
import { apiKeys, createHandler } from 'exact-change/http';

const [options = '{}'] = (globalThis.Deno?.args ?? process.argv.slice(2)).slice(0, 1);
const handler = createHandler(local(JSON.parse(options)), {
  authorize: apiKeys(['the-key-of-a-caller']),
});
if (globalThis.Deno !== undefined)
  Deno.serve(
    {
      port: 0,
      hostname: '127.0.0.1',
      onListen: ({ port }) => console.log(`http://127.0.0.1:${port}`),
    },
    (request) => handler(request),
  );
else {
  const { port } = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request) => handler(request),
  });
  console.log(`http://127.0.0.1:${port}`);
}
