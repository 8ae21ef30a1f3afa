// Pays for a call with a bundle for browsers: node pay-bundle.mjs <bundle> <url> <options>.
import { pathToFileURL } from 'node:url';

const [, , bundle, url, options] = process.argv;
await import(pathToFileURL(bundle).href);
const { createClient, receiptOf } = globalThis.exactChange;
const client = createClient({ ...JSON.parse(options), autoSwap: true });
const response = await client.fetch(url);
const { payment, swap } = receiptOf(response);
console.log(response.status, payment.amount, swap !== undefined);
await client.close();
