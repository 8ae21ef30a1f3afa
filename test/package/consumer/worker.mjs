// A service in a runtime of the Workers kind: nothing of Node, and no request may use what another
// began, so each has a handler of its own.
import { local } from 'exact-change';
import { apiKeys, createHandler } from 'exact-change/http';

export default {
  fetch(request, { RPC_URL, JUPITER_URL, API_KEY }) {
    const transport = local({ rpcUrl: RPC_URL, jupiterUrl: JUPITER_URL });
    return createHandler(transport, { authorize: apiKeys([API_KEY]) })(request);
  },
};
