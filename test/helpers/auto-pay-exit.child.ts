// Hands a signed payment to a transport with a journal, says what came of it, and ends without
// closing anything.
import { local, memoryJournal, type AutoPayRequest } from 'exact-change';

const [rpcUrl = '', jupiterUrl = '', request = ''] = process.argv.slice(2);
const transport = local({ rpcUrl, jupiterUrl, journal: memoryJournal() });
const { state } = await transport.autoPay(JSON.parse(request) as AutoPayRequest);
// Until the payment is listened to: that must not keep the process.
await new Promise((resolve) => setTimeout(resolve, 1_000));
process.stdout.write(state);
