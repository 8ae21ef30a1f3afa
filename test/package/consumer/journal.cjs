// Runs the packed Postgres journal with the installed pg and pg-boss: its data must be there after
// it is opened again.
const assert = require('node:assert/strict');
const { postgresJournal } = require('exact-change/journal/postgres');

const [, , connectionString] = process.argv;
const owner = { wallet: 'wallet', network: 'network' };
const attempt = {
  ...{ id: '1', ...owner, state: 'reserved', delivered: false, at: Date.now() },
  ...{ url: 'https://api.test/', method: 'GET', host: 'api.test', fingerprint: 'fingerprint' },
  ...{ payTo: 'payee', mint: 'mint', amount: '18446744073709551615', microUsd: '10000' },
};
const open = () => postgresJournal({ connectionString, outbox: true });

async function main() {
  const first = open();
  assert.equal(await first.reserve(attempt, []), undefined);
  const { claims, next } = first.coordination(owner);
  await claims.take([attempt.id]);
  assert.deepEqual([...(await claims.live([attempt.id]))], [attempt.id]);
  const counted = await next('a name');
  await first.close();

  const second = open();
  const kept = [];
  for await (const found of second.attempts(owner)) kept.push(found);
  assert.deepEqual(kept, [attempt]);
  assert((await second.coordination(owner).next('a name')) > counted);
  assert.deepEqual(await second.outbox.take({ limit: 1, leaseMs: 1_000, now: Date.now() }), []);
  await second.close();
  process.stdout.write('kept\n');
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
