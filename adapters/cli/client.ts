import { createClient, type Client, type ClientOptions, type Journal } from 'exact-change';
import { fileJournal } from 'exact-change/journal/file';
import { messageOf } from './failure.js';
import { makeFolderOf } from './paths.js';
import type { Invocation } from './report.js';
import { networkOf, nodeOptions, readSettings, type Settings } from './settings.js';
import { openWallet, type Wallet } from './wallet.js';

/** A client of the wallet, on the journal that all commands share. */
export interface OpenClient {
  readonly client: Client;
  readonly wallet: Wallet;
  readonly settings: Settings;
  readonly network: string;
  readonly journal: Journal;
}

/**
 * Opens a client, runs `work`, and closes the client. Open payments stay in the journal. What `work`
 * made is the outcome, also if the journal then fails: it says what became of the money.
 *
 * @param options - Options that the command adds to the settings. Its policy overrides theirs.
 */
export async function withClient<T>(
  { terminal, flags }: Pick<Invocation<object>, 'terminal' | 'flags'>,
  work: (opened: OpenClient) => Promise<T>,
  options?: (opened: Pick<OpenClient, 'wallet' | 'network' | 'settings'>) => ClientOptions,
): Promise<T> {
  const settings = readSettings(flags, terminal.env);
  const wallet = openWallet(settings.wallet, { terminal, fd: flags.passphraseFd });
  const network = networkOf(settings);
  const { policy, ...more } = options?.({ wallet, network, settings }) ?? {};
  await makeFolderOf(settings.journal);
  const journal = fileJournal(settings.journal);
  const client = createClient({
    ...nodeOptions(settings),
    ...{ signer: wallet.signer, journal, ...more },
    policy: { ...settings.policy, ...policy },
  });
  try {
    return await work({ client, wallet, settings, network, journal });
  } finally {
    const notComplete = (error: unknown): void =>
      terminal.say(`The record of this command is not complete: ${messageOf(error)}`);
    await client.close().catch(notComplete);
    await journal.close().catch(notComplete);
  }
}
