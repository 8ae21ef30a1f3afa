import { local, remote } from 'exact-change';
import { createHandler } from 'exact-change/http';
import { transportContract } from '../contract/transport-contract.js';
import { served } from '../helpers/served.js';

transportContract('the transport in this process', async (options) => ({ transport: local(options), close: async () => undefined }));

transportContract('the same behind a service, over a socket', async (options) => {
  const service = await served(createHandler(local(options), { basePath: '/pay' }));
  return { transport: remote(`${service.url}/pay/`), close: () => service.close() };
});
