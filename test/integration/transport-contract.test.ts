import { local, remote } from 'exact-change';
import { createHandler } from 'exact-change/http';
import { transportContract } from '../contract/transport-contract.js';
import { MOUNTS } from '../helpers/mounts.js';
import { inChaos, inTurn, share } from '../helpers/sampled.js';

if (!inChaos) {
  transportContract('the local transport', async (options) => ({
    transport: local(options),
    close: async () => undefined,
  }));
}

// The tests of the mounts cover body parsers before the service, so this file leaves them out.
const mounts = MOUNTS.filter(({ parses }) => !parses);
for (const { name, start } of share(mounts, inTurn(mounts, 0))) {
  transportContract(`the local transport behind a service in ${name}`, async (options) => {
    const mounted = await start(createHandler(local(options), { basePath: '/pay' }));
    return { transport: remote(`${mounted.url}/`), close: () => mounted.close() };
  });
}
