import { SOLANA_MAINNET, type Client, type Journal } from 'exact-change';
import { until } from '../../helpers/chain.js';

/** Resumes until the chain has decided every signed payment in the journal. */
export async function decideAll(client: Client, journal: Journal): Promise<void> {
  const owner = { wallet: client.address, network: SOLANA_MAINNET };
  const open = async () => {
    await client.resume();
    for await (const _ of journal.attempts(owner, { state: 'signed' })) return undefined;
    return true;
  };
  await until('the chain decides every payment', open, 300_000);
}
