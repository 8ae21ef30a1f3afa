import { base64 } from '../../../src/internal/bytes.js';
import { isRecord } from '../../../src/internal/record.js';
import { MEMO_PROGRAM } from '../../../src/solana/programs.js';
import { compileMessage, SIGNATURE_BYTES } from '../../../src/solana/transactions/compile.js';
import { fail, ok, warn, type Finding } from './finding.js';
import { askNode } from './rpc.js';

/** Calls at once for a swap with its payment. A node for real use refuses none of them. */
const BURST = 20;
const SLOW_MS = 500;
const CLOCK_MS = 30_000;
/** Characters of the base58 genesis hash that the CAIP-2 id of a cluster has. */
const GENESIS_LENGTH = 32;

/** Checks a node: its network, speed, rate limits, simulation and clock. */
export async function checkNode(url: string, network: string, wallet: string): Promise<Finding[]> {
  const name = `node ${new URL(url).host}`;
  try {
    const genesis = await askNode(url, 'getGenesisHash');
    const hash = typeof genesis.result === 'string' ? genesis.result : '';
    if (`solana:${hash.slice(0, GENESIS_LENGTH)}` !== network)
      return [fail(name, 'serves another network', 'Correct --rpc-url, or --network.')];
    return [
      genesis.tookMs > SLOW_MS
        ? warn(name, `answers in ${genesis.tookMs} ms`, 'Take a node that is nearer.')
        : ok(name, `serves the network, and answers in ${genesis.tookMs} ms`),
      await checkLimits(name, url),
      await checkSimulation(name, url, wallet),
      ...checkClock(genesis.aheadMs),
    ];
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'it failed';
    return [fail(name, `cannot be used: ${reason}`, 'Correct --rpc-url or SOLANA_RPC_URL.')];
  }
}

async function checkLimits(name: string, url: string): Promise<Finding> {
  const calls = Array.from({ length: BURST }, () => askNode(url, 'getSlot'));
  const refused = (await Promise.all(calls)).filter(({ status }) => status === 429).length;
  return refused === 0
    ? ok(name, `takes ${BURST} calls at once`)
    : warn(
        name,
        `refuses ${refused} of ${BURST} calls at once (429)`,
        'Take a node of your own: payments wait for this one.',
      );
}

/** Checks that a simulation shows inner instructions: without them, swaps are refused. */
async function checkSimulation(name: string, url: string, wallet: string): Promise<Finding> {
  const blockhash = '11111111111111111111111111111111'; // The node replaces it.
  const instruction = { program: MEMO_PROGRAM, accounts: [], data: new Uint8Array([0x2e]) };
  const message = compileMessage({ feePayer: wallet, instructions: [instruction], blockhash });
  const bytes = Uint8Array.of(1, ...new Uint8Array(SIGNATURE_BYTES), ...message);
  const { result } = await askNode(url, 'simulateTransaction', base64.encode(bytes), {
    ...{ encoding: 'base64', commitment: 'confirmed', sigVerify: false },
    ...{ replaceRecentBlockhash: true, innerInstructions: true },
  });
  const value = isRecord(result) ? result['value'] : undefined;
  if (isRecord(value) && Array.isArray(value['innerInstructions']))
    return ok(name, 'shows what programs call in a simulation, which swaps need');
  // A node cannot simulate a transaction of a wallet without SOL, so this may be the cause.
  return warn(
    name,
    'does not show what programs call in a simulation, which swaps need',
    'Send the wallet some SOL and look again, or take another node.',
  );
}

function checkClock(aheadMs: number | undefined): Finding[] {
  if (aheadMs === undefined) return [];
  const seconds = Math.round(Math.abs(aheadMs) / 1_000);
  return Math.abs(aheadMs) <= CLOCK_MS
    ? [ok('clock', 'agrees with that of the node')]
    : [
        warn(
          'clock',
          `is ${seconds} s ${aheadMs > 0 ? 'behind' : 'ahead of'} that of the node`,
          'Set the clock: caps over time go by it.',
        ),
      ];
}
