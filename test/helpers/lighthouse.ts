import { readFileSync } from 'node:fs';
import { address } from '@solana/kit';
import type { Sandbox } from 'exact-change-sandbox';
import { LIGHTHOUSE } from './changing-wallet.js';

const LOADER = address('BPFLoader2111111111111111111111111111111111');
const PROGRAM = new URL('../fixtures/lighthouse/lighthouse.so', import.meta.url);

/** Deploys a substitute for the Lighthouse program on a sandbox's chain. */
export function deployLighthouse({ chain }: Sandbox): void {
  const data = Uint8Array.from(readFileSync(PROGRAM));
  chain.setAccount(LIGHTHOUSE, { lamports: 100_000_000n, data, owner: LOADER, executable: true });
}
