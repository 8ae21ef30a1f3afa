import { describe, expect, it, onTestFinished } from 'vitest';
import { addressOf } from '../../../../src/solana/address.js';
import { connectRpc } from '../../../../src/solana/rpc/connection.js';
import { networkOf } from '../../../../src/solana/rpc/nodes.js';
import type { Rpc } from '../../../../src/solana/rpc/rpc.js';
import { startNode, status } from './fake-node.js';

const ours = addressOf(new Uint8Array(32).fill(5));
const other = addressOf(new Uint8Array(32).fill(6));
const network = networkOf(ours);

/** A node of a network that returns its first slot. */
const node = (genesis: string, firstSlot: number, isDead: () => boolean = () => false) =>
  startNode(({ method }) => {
    if (isDead()) return status(503);
    return { result: method === 'getGenesisHash' ? genesis : firstSlot };
  });

function connect(urls: readonly string[]): Rpc {
  const rpc = connectRpc({ urls, timeoutMs: 60_000, network });
  onTestFinished(() => rpc.close());
  return rpc;
}

const genesisCalls = (calls: readonly { readonly method: string }[]) =>
  calls.filter(({ method }) => method === 'getGenesisHash').length;

describe('a node of another network', () => {
  it('never takes over from a node of our network', async () => {
    let dead = false;
    const first = await node(ours, 1, () => dead);
    const foreign = await node(other, 2);
    const rpc = connect([first.url, foreign.url]);
    expect(await rpc.firstSlot()).toBe(1);
    dead = true;
    await expect(rpc.firstSlot()).rejects.toMatchObject({
      code: 'rpc_wrong_network',
      details: { expected: network, actual: networkOf(other) },
    });
  });

  it('is skipped for a node of our network, and is not asked again', async () => {
    const foreign = await node(other, 2);
    const good = await node(ours, 3);
    const rpc = connect([foreign.url, good.url]);
    expect(await rpc.firstSlot()).toBe(3);
    expect(await rpc.firstSlot()).toBe(3);
    expect(genesisCalls(foreign.calls)).toBe(1);
  });

  it('is detected also when it is asked alone', async () => {
    const good = await node(ours, 3);
    const foreign = await node(other, 2);
    const [first, second] = connect([good.url, foreign.url]).perNode();
    expect(await first?.firstSlot()).toBe(3);
    await expect(second?.firstSlot()).rejects.toMatchObject({ code: 'rpc_wrong_network' });
  });
});

describe('a node of our network', () => {
  it('is asked for its genesis hash once, for all calls', async () => {
    const good = await node(ours, 3);
    const rpc = connect([good.url]);
    expect(
      await Promise.all([rpc.genesisHash(), rpc.firstSlot(), rpc.perNode()[0]?.firstSlot()]),
    ).toEqual([ours, 3, 3]);
    await rpc.firstSlot();
    expect(genesisCalls(good.calls)).toBe(1);
  });

  it('is asked for its genesis hash again after a failure', async () => {
    let asked = 0;
    const { url } = await startNode(({ method }) => {
      if (method === 'getGenesisHash' && (asked += 1) === 1) return status(503);
      return { result: method === 'getGenesisHash' ? ours : 4 };
    });
    expect(await connect([url]).firstSlot()).toBe(4);
    expect(asked).toBe(2);
  });
});
