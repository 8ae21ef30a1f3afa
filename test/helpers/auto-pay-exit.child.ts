// Passes a signed payment to a transport with a journal, prints the state of the payment, and ends
// without closing the transport.
import { local, memoryJournal, type AutoPayRequest } from 'exact-change';

const [rpcUrl = '', jupiterUrl = '', request = ''] = process.argv.slice(2);
const transport = local({ rpcUrl, jupiterUrl, journal: memoryJournal() });
const { state } = await transport.autoPay(JSON.parse(request) as AutoPayRequest);
// Give the transport time to subscribe to the payment, because a subscription must not keep the
// process alive.
await new Promise((resolve) => setTimeout(resolve, 1_000));
process.stdout.write(state);
