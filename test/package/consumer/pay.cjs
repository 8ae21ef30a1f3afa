// Pays for a call on a sandbox in another process, on any runtime. Prints the status, the amount
// and whether it swapped.
if (globalThis.fetch === undefined) {
  // Node 16 needs undici, as README describes.
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
