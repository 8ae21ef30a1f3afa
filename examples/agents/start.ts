// Agents pay agents: an agent sells facts, an agent makes briefs from them with a margin, and an
// agent buys the briefs on a budget. They use HTTP and MCP, each with its own wallet, all on this
// machine: `npm run demo:agents`. With `--without-facilitator` nothing settles, so the story must
// fail.
import { isExactChangeError } from 'exact-change';
import { createSandbox, type Sandbox } from 'exact-change-sandbox';
import { createAgent } from './agent.js';
import { printLedger } from './ledger.js';
import { openShop } from './shop.js';

const FACT = 20_000n;
const BRIEF = 25_000n;
/** Budget in dollars, which is too small for a third brief. */
const BUDGET = '0.06';

const say = (actor: string, text: string) =>
  void process.stdout.write(`${actor.padEnd(7)} ${text}\n`);

const sandbox = await createSandbox();
try {
  await run(sandbox);
} finally {
  await sandbox.close();
}

async function run(sandbox: Sandbox): Promise<void> {
  const seller = await createAgent(sandbox, 'seller', { USDC: '0' });
  const broker = await createAgent(sandbox, 'broker', { USDC: '0.1' }, { maxPerDay: '0.10' });
  const buyer = await createAgent(
    sandbox,
    'buyer',
    { SOL: '0.5', USDC: '0' },
    { maxPerDay: BUDGET },
  );

  const fact = async (query: string) => `a fact on ${query}`;
  const facts = { name: 'fact', description: 'One fact', amount: FACT, make: fact };
  const sells = await openShop(sandbox, seller.address, { http: facts, mcp: facts });
  const brief = { name: 'brief', description: 'A brief on a topic', amount: BRIEF };
  const brokers = await openShop(sandbox, broker.address, {
    http: {
      ...brief,
      make: async (query) => `A brief: ${await broker.buyPage(sells.http, query)}.`,
    },
    mcp: {
      ...brief,
      make: async (query) => `A brief: ${await broker.buyTool(sells.mcp, 'fact', query)}.`,
    },
  });
  try {
    if (process.argv.includes('--without-facilitator')) await sandbox.controls.facilitator.stop();
    say('buyer', `has 0.5 SOL, and ${BUDGET} USD to spend`);
    say('buyer', `over HTTP: ${await buyer.buyPage(brokers.http, 'salt')}`);
    say('buyer', `over MCP:  ${await buyer.buyTool(brokers.mcp, 'brief', 'pepper')}`);
    const third = await buyer.buyPage(brokers.http, 'mace').catch((error: unknown) => error);
    if (!isExactChangeError(third, 'budget_exhausted'))
      throw new Error('the budget did not hold', { cause: third });
    say('buyer', 'a third: the budget is used up, and nothing was signed');
    await printLedger(sandbox, [
      { agent: seller, shop: sells },
      { agent: broker, shop: brokers },
      { agent: buyer },
    ]);
  } finally {
    for (const agent of [buyer, broker, seller]) await agent.close();
    await Promise.all([brokers.close(), sells.close()]);
  }
}
