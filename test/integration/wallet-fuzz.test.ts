import { address, type Address } from '@solana/kit';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { judgeChange } from '../../src/solana/transactions/wallet-changes.js';
import { tokenAccount } from '../helpers/chain.js';
import { guardVectors } from '../fixtures/lighthouse/vectors.js';
import {
  type Added,
  type Compiled,
  compile,
  decompile,
  guardOn,
  insert,
} from '../helpers/changing-wallet.js';
import { deployLighthouse } from '../helpers/lighthouse.js';
import { simulatedBy } from '../helpers/estate.js';
import { payerOn } from '../helpers/payer.js';
import { inChaos } from '../helpers/sampled.js';
import { useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ slotMs: 0, confirmationMs: 0 });
deployLighthouse(sandbox);

const PRICE = 10_000n;
const SYSTEM = address('11111111111111111111111111111111');
const TOKEN = address('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA');
const payer = await payerOn(sandbox, { USDC: '1', SOL: '1' });
await payer.client.pay(await fetch(`${sandbox.apiUrl}/usdc`));
const original = Uint8Array.from(payer.messages[0] ?? []);
const payment = decompile(original);

const [wallet, thief] = [address(payer.address), address((await sandbox.createWallet()).address)];
const { USDC } = sandbox.mints;
sandbox.chain.fundSol(thief, 1_000_000_000n);
await sandbox.chain.fundToken(thief, USDC, 1n);
const [source, loot, destination] = (
  await Promise.all([wallet, thief, sandbox.merchant].map((owner) => tokenAccount(owner, USDC)))
).map(address) as [Address, Address, Address];
const feePayer = address(sandbox.feePayer);
const watched = [wallet, source, destination, feePayer, thief, loot];

/** Returns the change of each watched account if the message runs, or undefined if it fails. */
async function moved(message: Uint8Array): Promise<readonly bigint[] | undefined> {
  const { header } = decompile(message);
  const slots = new Uint8Array(64 * header.numSignerAccounts).fill(1);
  const wire = Uint8Array.from([header.numSignerAccounts, ...slots, ...message]);
  const { error, after } = await simulatedBy(sandbox, wire, watched);
  if (error !== null) return undefined;
  const tokens = (data: Uint8Array | undefined) =>
    data?.length === 165 ? Buffer.from(data).readBigUInt64LE(64) : 0n;
  return watched.map((key) => {
    const [now, then] = [after.get(key), sandbox.chain.account(key)];
    const isToken = then?.owner === TOKEN;
    return isToken
      ? tokens(now?.data) - tokens(then.data)
      : (now?.lamports ?? 0n) - (then?.lamports ?? 0n);
  });
}

const accounts = fc.constantFrom<Address>(
  ...[...payment.staticAccounts, thief, loot, SYSTEM, address(USDC.address)],
);
const READING = Object.keys(guardVectors).filter((name) => !/Memory|Merkle|Bubble/.test(name));
const guards = fc
  .record({
    name: fc.constantFrom(...Object.keys(guardVectors)),
    on: accounts,
    level: fc.constantFrom(0, 1, 2, 3, 4, 5, 6, 7),
    more: fc.array(accounts, { maxLength: 5 }),
  })
  .map(({ name, on, level, more }): Added => {
    const guard = guardOn(on, name);
    const data = Uint8Array.from(guard.data);
    data[1] = level;
    return { ...guard, data, accounts: [...guard.accounts, ...more] };
  });
const honestGuards = fc
  .record({ name: fc.constantFrom(...READING), on: accounts })
  .map(({ name, on }) => guardOn(on, name));
const thefts = fc.constantFrom<Added>(
  {
    program: SYSTEM,
    accounts: [wallet, thief],
    data: Uint8Array.of(2, 0, 0, 0, 0, 202, 154, 59, 0, 0, 0, 0),
  },
  {
    program: TOKEN,
    accounts: [source, loot, wallet],
    data: Uint8Array.of(3, 1, 0, 0, 0, 0, 0, 0, 0),
  },
);

type Step = (message: Compiled) => Compiled;
const at = fc.nat(9);
const header = fc.constantFrom<keyof Compiled['header']>(
  'numSignerAccounts',
  'numReadonlySignerAccounts',
  'numReadonlyNonSignerAccounts',
);
const added = (some: fc.Arbitrary<Added>) =>
  fc.tuple(at, some).map(
    ([place, instruction]): Step =>
      (message) =>
        insert(message, Math.min(place, message.instructions.length), instruction),
  );
const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: added(honestGuards) },
  { weight: 4, arbitrary: added(guards) },
  { weight: 1, arbitrary: added(thefts) },
  fc.tuple(at, at).map(([from, to]): Step => (message) => {
    const instructions = [...message.instructions];
    instructions.splice(to, 0, ...instructions.splice(from, 1));
    return { ...message, instructions };
  }),
  at.map((place): Step => (message) => ({
    ...message,
    instructions: message.instructions.filter((_, index) => index !== place),
  })),
  fc.tuple(header, fc.constantFrom(-1, 1)).map(([name, by]): Step => (message) => ({
    ...message,
    header: { ...message.header, [name]: Math.max(0, message.header[name] + by) },
  })),
  fc.tuple(at, accounts).map(([place, key]): Step => (message) => ({
    ...message,
    staticAccounts: message.staticAccounts.map((was, index) => (index === place ? key : was)),
  })),
);
const changes = fc
  .tuple(fc.array(steps, { minLength: 1, maxLength: 3 }), fc.option(fc.tuple(fc.nat(), fc.nat(7))))
  .map(([list, flip]) => {
    const bytes = compile(list.reduce((message, step) => step(message), payment));
    if (flip !== null) {
      const [place, bit] = flip;
      bytes[place % bytes.length] = (bytes[place % bytes.length] ?? 0) ^ (1 << bit);
    }
    return bytes;
  });

describe('a payment that a wallet changed, on a chain where other guards steal', () => {
  it('could rob the fee payer by a guard that writes, so it is refused', async () => {
    const accounts = [thief, SYSTEM, feePayer, destination];
    const message = compile(insert(payment, 4, { ...guardOn(thief, 'MemoryWrite'), accounts }));
    expect((await moved(message))?.[3]).toBeLessThanOrEqual(-1_113_600n);
    const wire = Uint8Array.from([2, ...new Uint8Array(128), ...message]);
    expect(judgeChange(original, wire)).toMatchObject({ id: 'wallet_memory_write' });
  });

  it('pays exactly its price and takes nothing else, if it is accepted and runs', async () => {
    const tally = { accepted: 0, ran: 0 };
    await fc.assert(
      fc.asyncProperty(changes, async (message) => {
        const signers = message[1] ?? 0;
        const wire = Uint8Array.from([signers, ...new Uint8Array(64 * signers), ...message]);
        if ('id' in judgeChange(original, wire)) return;
        tally.accepted += 1;
        const after = await moved(message);
        if (after === undefined) return;
        tally.ran += 1;
        const [lamports, spent, paid, fee, ...stolen] = after;
        expect([lamports, spent, paid, stolen]).toEqual([0n, -PRICE, PRICE, [0n, 0n]]);
        expect(fee).toBeGreaterThanOrEqual(-10_001n);
      }),
      { numRuns: inChaos ? 8_000 : 500, seed: 15 },
    );
    expect(tally.ran).toBeGreaterThan(25);
  });
});
