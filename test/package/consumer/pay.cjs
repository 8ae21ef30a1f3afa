// Pays one call on a sandbox in another process, on whatever Node this is. Prints the status and
// what was paid.
if (globalThis.fetch === undefined) {
  // Node 16, as README says.
  const { fetch, FormData, Headers, Request, Response } = require('undici');
  Object.assign(globalThis, { fetch, FormData, Headers, Request, Response });
}
const { createClient, receiptOf } = require('exact-change');

const [, , url, options] = process.argv;
const client = createClient({ ...JSON.parse(options), autoSwap: true });
client
  .fetch(url)
  .then((response) => {
    console.log(
      response.status,
      receiptOf(response).payment.amount,
      receiptOf(response).swap !== undefined,
    );
    return client.close();
  })
  .catch((error) => {
    console.error(error);
    process.exitCode = 1;
  });
