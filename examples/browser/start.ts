// A page that pays on a sandbox: run `npm run demo:browser`, then open the URL that it prints.
import { createSandbox } from 'exact-change-sandbox';
import { servePage, settingsFor } from './serve.js';

const PORT = 5402;

const sandbox = await createSandbox();
const page = await servePage(await settingsFor(sandbox), PORT);
process.stdout.write(`Open ${page.url} (Ctrl+C ends it)\n`);
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void Promise.all([page.close(), sandbox.close()]));
