// Swaps, pays a seller that never settles, closes the client and does nothing more. The parent
// looks whether this process ends by itself.
import { createClient, receiptOf } from '../../src/index.js';

const { SECRET, RPC, JUPITER, API } = process.env as Record<string, string>;
const client = createClient({
  walletSecretKey: SECRET,
  rpcUrl: RPC,
  jupiterUrl: JUPITER,
  autoSwap: true,
});
const response = await client.fetch(`${API}/fails`);
await response.text();
process.stdout.write(`${response.status} ${receiptOf(response)?.state}`);
await client.close();
