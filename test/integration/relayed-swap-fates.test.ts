import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AccountRole, address, getBase58Decoder } from '@solana/kit';
import { createClient } from 'exact-change';
import { fileJournal } from 'exact-change/journal/file';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { MODE } from '../../adapters/sandbox/venue/venue.mjs';
import { landed } from '../helpers/chain.js';
import { decided } from '../helpers/flow.js';
import { failureOf, payerOn, secretBytes, type Payer } from '../helpers/payer.js';
import { programOf } from '../helpers/program.js';
import { inChaos, unsampled } from '../helpers/sampled.js';
import { useSandbox } from '../helpers/sandbox.js';
import { signAnew } from '../helpers/sign-anew.js';

const program = programOf(fileURLToPath(new URL('./relayed-swaps.child.ts', import.meta.url)));
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const sandbox = await useSandbox({ confirmationMs: 20, slotMs: 60 });
const { relayer, node } = sandbox.controls;
const url = `${sandbox.apiUrl}/usdc`;
const relayed = { autoSwap: true, relayer: { url: sandbox.relayerUrl } };
const HELD = 5_000_000n;
const MAX_FEE = 500_000n;
/** Output of a swap besides the fee, with slippage. */
const SWAPPED = 50_300n;

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'exact-change-relayed-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const withoutSol = () => payerOn(sandbox, { USDT: '5' }, relayed);
const leftOf = (payer: Payer) => sandbox.balance(payer.address, 'USDT');

/** Runs a payer that is killed on the way. */
async function killed(task: string): Promise<void> {
  const child = spawn(process.execPath, [program.path, task], {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { PATH: process.env['PATH'] },
  });
  expect(await once(child, 'close')).toEqual([null, 'SIGKILL']);
}

unsampled('a swap that a relayer has signed', () => {
  it('is found on chain if the relayer signs it anew and sends that', async () => {
    let id = '';
    node.intercept = (method, params, next) => {
      if (method !== 'sendTransaction' || id !== '') return next();
      const [text, options] = params as [string, unknown];
      const wire = Buffer.from(text, 'base64');
      // Payments have another fee payer.
      if (!relayer.signed.some((signed) => wire.subarray(129).equals(signed.subarray(129))))
        return next();
      const other = signAnew(wire.subarray(129), secretBytes(relayer.secretKey));
      wire.set(other, 1);
      id = getBase58Decoder().decode(other);
      const answer = next([wire.toString('base64'), options]);
      setTimeout(() => node.warp(), 500);
      return answer;
    };
    const payer = await withoutSol();
    const swapped = await payer.client.swap({
      inputMint: 'USDT',
      outputMint: 'USDC',
      uiAmount: '1',
    });
    expect(swapped.signature).toBe(id);
    const { error, lamports } = await landed(sandbox.rpcUrl, id);
    expect([error, lamports.get(payer.address)]).toEqual([null, undefined]);
    expect(payer.signed.filter(({ kind }) => kind === 'swap')).toHaveLength(1);
    expect(HELD - (await leftOf(payer))).toBe(BigInt(swapped.inAmount));
  });

  it('is made anew once its blockhash has expired, and takes the money once', async () => {
    let dropped = 0;
    node.intercept = (method, params, next) => {
      const [text] = params as [string];
      const wire = method === 'sendTransaction' ? Buffer.from(text, 'base64') : undefined;
      if (wire === undefined || relayer.signed.length !== 1) return next();
      if (!relayer.signed.some((signed) => wire.subarray(129).equals(signed.subarray(129))))
        return next();
      if ((dropped += 1) === 1) setTimeout(() => node.warp(), 100);
      return getBase58Decoder().decode(wire.subarray(1, 65));
    };
    const payer = await withoutSol();
    const { state, swap } = await decided(await payer.client.fetch(url));
    expect([state, relayer.signed.length, dropped > 0]).toEqual(['settled', 2, true]);
    expect(HELD - (await leftOf(payer))).toBe(BigInt(swap?.inAmount ?? 0));
  });

  it('is reported with its fee if the process is killed before it pays', async () => {
    const path = join(directory, 'freed.jsonl');
    const { address: own, secretKey } = await sandbox.createWallet({ USDT: '5' });
    const options = {
      ...{ ...relayed, walletSecretKey: secretKey },
      ...{ rpcUrl: sandbox.rpcUrl, jupiterUrl: sandbox.jupiterUrl },
    };
    await killed(
      JSON.stringify({ options, address: own, url, journal: path, dieAt: 'swap.confirmed' }),
    );
    const journal = fileJournal(path);
    const client = createClient({ ...options, journal });
    onTestFinished(async () => {
      await client.close();
      await journal.close();
    });
    const [freed] = await client.resume();
    const { state, swap } = freed ?? {};
    expect([state, swap?.relayFee?.mint]).toEqual(['unpaid', sandbox.mints.USDT.address]);
    expect(HELD - (await sandbox.balance(own, 'USDT'))).toBe(BigInt(swap?.inAmount ?? 0));
  });

  it('costs nothing if the process is killed before its wallet signs', async () => {
    const path = join(directory, 'killed.jsonl');
    const journal = fileJournal(path);
    onTestFinished(() => journal.close());
    const payer = await payerOn(sandbox, { USDT: '5' }, { ...relayed, journal });
    const options = { ...relayed, rpcUrl: sandbox.rpcUrl, jupiterUrl: sandbox.jupiterUrl };
    const task = JSON.stringify({ options, address: payer.address, url, journal: path });
    await killed(task);
    expect([relayer.signed.length, await leftOf(payer)]).toEqual([1, HELD]);

    const { state, swap } = await decided(await payer.client.fetch(url));
    expect([state, relayer.signed.length]).toEqual(['settled', 2]);
    expect(HELD - (await leftOf(payer))).toBe(BigInt(swap?.inAmount ?? 0));
    // One swap and one payment count: no reservation of the first process is left.
    const [day] = (await payer.client.spent()).filter(({ cap }) => cap === 'maxPerDay');
    expect(Number(day?.used)).toBeLessThan(0.52);
  });
});

unsampled('a venue that turns hostile after a relayed swap is signed', () => {
  it.each([
    { does: 'assigns a wallet without lamports', modes: [MODE.assignWallet], sol: undefined },
    { does: 'takes the lamports of the wallet', modes: [MODE.takeSol], sol: '0.0008' },
  ])(
    'takes nothing from the wallet when it $does: the whole swap fails',
    async ({ modes, sol }) => {
      const funds = { USDT: '5', USDC: '0.001', ...(sol === undefined ? {} : { SOL: sol }) };
      const payer = await payerOn(sandbox, funds, relayed);
      const wallet = address(payer.address);
      const before = sandbox.chain.account(wallet);
      // A program can call the System program only if the swap names it.
      const system = {
        address: address('11111111111111111111111111111111'),
        role: AccountRole.READONLY,
      };
      sandbox.controls.aggregator.setVenue({ extra: [system] });
      payer.client.on('swap.signed', () =>
        sandbox.controls.aggregator.setVenue({ modes, amount: 1n }),
      );
      const error = await failureOf(payer.client.fetch(url));
      expect([error.code, error.funds]).toEqual(['swap_failed', 'untouched']);
      // The swap is the third instruction, so the failed instruction is the guard after it.
      const reason = expect.stringMatching(/InstructionError\D+([3-9]|\d\d),/);
      expect(error.details).toMatchObject({ feeLamports: '0', reason });
      expect(relayer.signed).toHaveLength(1);
      expect(sandbox.chain.account(wallet)).toEqual(before);
      expect([await leftOf(payer), await sandbox.balance(wallet, 'USDC')]).toEqual([HELD, 1_000n]);
    },
  );
});

unsampled('a wallet without lamports that gets account data after it signed a relayed swap', () => {
  it('keeps all its tokens, since a nonce account has another authority', async () => {
    const payer = await payerOn(sandbox, { USDT: '5', USDC: '0.001' }, relayed);
    const wallet = address(payer.address);
    payer.client.on('swap.signed', () =>
      sandbox.chain.setAccount(wallet, {
        ...{ lamports: 1_500_000n, data: new Uint8Array(80), executable: false },
        owner: address('11111111111111111111111111111111'),
      }),
    );
    const error = await failureOf(payer.client.fetch(url));
    expect(error.code).toBe('swap_failed');
    expect([await leftOf(payer), await sandbox.balance(wallet, 'USDC')]).toEqual([HELD, 1_000n]);
  });
});

/** Ways in which a relayer may damage bytes. */
const spoiling = fc.oneof(
  fc.record({ at: fc.nat(1_231), xor: fc.integer({ min: 1, max: 255 }) }).map(({ at, xor }) => ({
    how: `byte ${at} xor ${xor}`,
    spoil: (bytes: Uint8Array) =>
      bytes.map((byte, index) => (index === at % bytes.length ? byte ^ xor : byte)),
  })),
  fc.record({ at: fc.nat(1_231), byte: fc.nat(255) }).map(({ at, byte }) => ({
    how: `byte ${byte} put in at ${at}`,
    spoil: (bytes: Uint8Array) => {
      const place = at % bytes.length;
      return Uint8Array.from([...bytes.subarray(0, place), byte, ...bytes.subarray(place)]);
    },
  })),
  fc.nat(1_231).map((at) => ({
    how: `byte ${at} left out`,
    spoil: (bytes: Uint8Array) => bytes.filter((_, index) => index !== at % bytes.length),
  })),
);

describe('any bytes that a relayer returns', () => {
  it('takes no lamport from the wallet, and no more tokens than the swap and the fee', async () => {
    let payer = await withoutSol();
    await fc.assert(
      fc.asyncProperty(spoiling, fc.boolean(), async ({ spoil }, isSigned) => {
        relayer.restore();
        // The relayer changes the bytes before it signs, so that its signature fits, or after.
        if (isSigned) relayer.tamper(spoil);
        else
          relayer.lie('signTransaction', ({ signed_transaction: wire, ...rest }) => ({
            ...rest,
            signed_transaction: Buffer.from(spoil(Buffer.from(String(wire), 'base64'))).toString(
              'base64',
            ),
          }));
        const before = await leftOf(payer);
        const status = await payer.client.fetch(url).then(
          (answer) => answer.status,
          () => undefined,
        );
        const taken = before - (await leftOf(payer));
        expect(await sandbox.balance(payer.address, 'SOL')).toBe(0n);
        if (status === undefined) {
          expect([taken, payer.signed]).toEqual([0n, []]);
          return;
        }
        expect(taken).toBeLessThanOrEqual(SWAPPED + MAX_FEE);
        payer = await withoutSol();
      }),
      { numRuns: inChaos ? 24 : 8 },
    );
  });
});
