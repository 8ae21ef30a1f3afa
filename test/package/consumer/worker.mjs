// A service in a Workers runtime, without Node modules. Each request gets its own handler, because
// Workers forbid I/O objects of another request.
import { local } from 'exact-change';
import { apiKeys, createHandler } from 'exact-change/http';

export default {
  fetch(request, { RPC_URL, JUPITER_URL, API_KEY }) {
    const transport = local({ rpcUrl: RPC_URL, jupiterUrl: JUPITER_URL });
    return createHandler(transport, { authorize: apiKeys([API_KEY]) })(request);
  },
};
