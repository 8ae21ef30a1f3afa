// `npm run bench`: this client beside the official one, in one run. The ratios are what compares
// between machines.
import { firewallTime } from './firewall-time.js';
import { importTime } from './import-time.js';
import { paymentTime } from './payment-time.js';
import { traces } from './trace.js';

process.stdout.write(
  `${''.padEnd(44)} ${'ours'.padStart(10)} ${'official'.padStart(10)} ${'ratio'.padStart(7)}\n`,
);
for (const line of await importTime()) process.stdout.write(`${line}\n`);
for (const line of await paymentTime()) process.stdout.write(`${line}\n`);
for (const line of await firewallTime()) process.stdout.write(`${line}\n`);
for (const line of await traces()) process.stdout.write(`${line}\n`);
