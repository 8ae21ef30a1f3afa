import { formatUiAmount } from 'exact-change';
import type { Sandbox } from 'exact-change-sandbox';
import type { Agent } from './agent.js';
import type { Shop } from './shop.js';

const say = (text: string) => void process.stdout.write(`${text}\n`);
const usdc = (units: bigint): string =>
  units < 0n ? `-${formatUiAmount(-units, 6)}` : formatUiAmount(units, 6);

/** An agent, and its shop if it sells. */
export interface Trader {
  readonly agent: Agent;
  readonly shop?: Shop;
}

/**
 * Prints the ledger of all agents in USDC. Throws if a line differs from the chain, or if the sum
 * of all agents differs from the USDC that they brought in.
 */
export async function printLedger(sandbox: Sandbox, traders: readonly Trader[]): Promise<void> {
  const rows = await Promise.all(traders.map((trader) => rowOf(sandbox, trader)));
  say('\n           opening   swapped in      sold    bought   closing   on chain');
  for (const { name, opening, swapped, sold, bought, closing, onChain } of rows) {
    const cells = [opening, swapped, sold, -bought, closing, onChain].map(usdc);
    const widths = [8, 12, 9, 9, 9, 10];
    say(name.padEnd(10) + cells.map((cell, index) => cell.padStart(widths[index] ?? 0)).join(' '));
    if (closing !== onChain) throw new Error(`the ledger of ${name} is not what the chain shows`);
  }
  const sum = (of: 'sold' | 'bought') => rows.reduce((all, row) => all + row[of], 0n);
  if (sum('sold') !== sum('bought')) throw new Error('what was sold is not what was bought');
  say(`\nThe chain shows the same: ${usdc(sum('sold'))} USDC changed hands, none was lost.`);
}

async function rowOf(sandbox: Sandbox, { agent, shop }: Trader) {
  let [bought, swapped] = [0n, 0n];
  for await (const { state, payment, swap } of agent.client.receipts()) {
    if (state !== 'settled') throw new Error(`a payment of ${agent.name} is ${state}`);
    bought += BigInt(payment.amount);
    if (swap?.outputMint === payment.mint) swapped += BigInt(swap.outAmount);
  }
  const sold = shop?.sold() ?? 0n;
  const { name, address, opening } = agent;
  const closing = opening + swapped + sold - bought;
  const onChain = await sandbox.balance(address, 'USDC');
  return { name, opening, swapped, sold, bought, closing, onChain };
}
