import { AccountRole, address } from '@solana/kit';
import type { Address } from '@solana/kit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SANDBOX_MINTS } from '../../adapters/sandbox/mints.js';
import { startNode } from '../../adapters/sandbox/node/index.js';
import type { SandboxNode } from '../../adapters/sandbox/node/index.js';
import {
  configData,
  CONFIG_SIZE,
  MODE,
  POOL_AUTHORITY,
  routeV2,
  TARGET,
  VENUE,
} from '../../adapters/sandbox/venue/venue.mjs';
import { SYSTEM_PROGRAM } from '../../src/solana/programs.js';
import { connectRpc } from '../../src/solana/rpc/connection.js';
import { computeUnitLimit } from '../../src/solana/transactions/instructions.js';
import { createSeedSigner } from '../../src/solana/keys.js';
import type { Rpc } from '../../src/solana/rpc/rpc.js';
import { compileMessage } from '../../src/solana/transactions/compile.js';
import { assembleTransaction } from '../../src/solana/transactions/transaction.js';
import { innerRules } from '../../src/swaps/firewall/inner-rules.js';
import { BLOCKHASH, fromKit, someKey } from '../unit/swaps/support.js';

const { BONK, PYUSD, USDC } = SANDBOX_MINTS;
const WALLET = address(createSeedSigner(new Uint8Array(32).fill(42)).address);
const ATTACKER = someKey(66);
const CONFIG = someKey(80);
/** The swap follows the instruction that sets the compute unit limit. */
const SWAP_INDEX = 1;

let node: SandboxNode;
let rpc: Rpc;

beforeEach(async () => {
  node = await startNode({ slotMs: 0, confirmationMs: 0 });
  rpc = connectRpc({ urls: [node.url], timeoutMs: 5_000 });
  for (const funded of [WALLET, ATTACKER]) node.chain.fundSol(funded, 1_000_000_000n);
});

afterEach(async () => {
  rpc.close();
  await node.close();
});

/** Returns the ids of the rules that a swap in this mode of the venue breaks. */
async function broken(
  mode: number,
  settings: { target?: number; amount?: bigint },
  output = USDC,
): Promise<readonly string[]> {
  const { chain } = node;
  const fund = (owner: Address, mint: typeof BONK, amount: bigint) =>
    chain.fundToken(owner, mint, amount);
  const data = configData({ modes: [mode], attacker: ATTACKER, ...settings });
  chain.setAccount(CONFIG, {
    lamports: chain.rent(BigInt(CONFIG_SIZE)),
    data,
    owner: VENUE,
    executable: false,
  });
  const [source, destination] = [await fund(WALLET, BONK, 100n), await fund(WALLET, output, 0n)];
  const swap = routeV2({
    ...{ user: WALLET, source, destination, config: CONFIG, inAmount: 100n, quotedOutAmount: 200n },
    ...{ sourceMint: BONK.address, destinationMint: output.address },
    ...{ sourceProgram: BONK.tokenProgram, destinationProgram: output.tokenProgram },
    ...{
      vaultIn: await fund(POOL_AUTHORITY, BONK, 0n),
      vaultOut: await fund(POOL_AUTHORITY, output, 200n),
    },
    extra: [ATTACKER, { address: address(SYSTEM_PROGRAM), role: AccountRole.READONLY }],
  });
  const instructions = [computeUnitLimit(200_000), fromKit(swap)];
  const message = compileMessage({ feePayer: WALLET, instructions, blockhash: BLOCKHASH });
  const { error, inner } = await rpc.simulate(assembleTransaction(message, new Map()), []);
  expect(error).toBeNull();
  const subject = { inner, swapIndex: SWAP_INDEX, wallet: WALLET, own: [source, destination] };
  return innerRules.filter((rule) => !rule.passes(subject)).map(({ id }) => id);
}

describe.each([
  ['parses inner calls, as real nodes do', true],
  ['returns inner calls as bytes', false],
])('innerRules on a real chain, if the node %s', (_form, parsesCalls) => {
  beforeEach(() => {
    node.controls.parsesCalls = parsesCalls;
  });

  it.each<[string, number, { target?: number; amount?: bigint }, string[]]>([
    ['an honest swap', 0, {}, []],
    ['an approval of the source', MODE.approve, { target: TARGET.source }, ['inner_token']],
    ['an approval of the output', MODE.approve, { target: TARGET.destination }, ['inner_token']],
    ['a new owner of the source', MODE.setOwner, { target: TARGET.source }, ['inner_token']],
    ['a new owner of the output', MODE.setOwner, { target: TARGET.destination }, ['inner_token']],
    ['a close authority of the output', MODE.setCloseAuthority, {}, ['inner_token']],
    ['the closing of the emptied source', MODE.closeAccount, {}, ['inner_token']],
    ['an assignment of the wallet', MODE.assignWallet, {}, ['inner_system']],
    [
      'a transfer of SOL, which the rules on lamports catch',
      MODE.takeSol,
      { amount: 123_456n },
      [],
    ],
    ['an output one unit short, which the rules on balances catch', MODE.underpay, {}, []],
  ])('return the rules that %s breaks', async (_, mode, settings, rules) => {
    expect(await broken(mode, settings)).toEqual(rules);
  });

  it('return the same verdicts for an output of Token-2022', async () => {
    expect(await broken(MODE.approve, { target: TARGET.destination }, PYUSD)).toEqual([
      'inner_token',
    ]);
    expect(await broken(MODE.setCloseAuthority, {}, PYUSD)).toEqual(['inner_token']);
    expect(await broken(0, {}, PYUSD)).toEqual([]);
  });
});
