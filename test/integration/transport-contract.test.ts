import { local, remote } from 'exact-change';
import { createHandler } from 'exact-change/http';
import { transportContract } from '../contract/transport-contract.js';
import { MOUNTS } from '../helpers/mounts.js';
import { inTurn } from '../helpers/sampled.js';
import { served } from '../helpers/served.js';

transportContract('the transport in this process', async (options) => ({
  transport: local(options),
  close: async () => undefined,
}));

transportContract('the same behind a service, over a socket', async (options) => {
  const service = await served(createHandler(local(options)));
  return { transport: remote(service.url), close: () => service.close() };
});

// What parsers of bodies before it make of a request is known from the tests of the mounts.
for (const { name, start } of inTurn(
  MOUNTS.filter(({ parses }) => !parses),
  0,
)) {
  transportContract(`the same behind a service in ${name}`, async (options) => {
    const mounted = await start(createHandler(local(options), { basePath: '/pay' }));
    return { transport: remote(`${mounted.url}/`), close: () => mounted.close() };
  });
}
