import { formatUiAmount, isExactChangeError } from 'exact-change';
import { parseRpcUrls } from '../../../src/config/addresses.js';
import { KEEP_LAMPORTS } from '../../../src/payments/plan/keep-lamports.js';
import { withClient, type OpenClient } from '../client.js';
import { checkAccounts } from '../doctor/accounts.js';
import { fail, ok, warn, type Finding } from '../doctor/finding.js';
import { checkNode } from '../doctor/node.js';
import { modeAdvice } from '../paths.js';
import type { Command } from '../report.js';
import type { Settings } from '../settings.js';
import { tableText } from '../table.js';
import type { Terminal } from '../terminal.js';

/** Checks all that a payment needs, and says how to fix each problem. */
export const doctorCommand: Command<object> = ({ terminal, flags }) =>
  // What the wallet's reader says of a file's mode is a finding of its own here.
  withClient({ flags, terminal: { ...terminal, say: () => undefined } }, async (opened) => {
    const { settings, network, client } = opened;
    const urls = parseRpcUrls({ rpcUrl: settings.rpcUrl }, network);
    const [primary = ''] = urls;
    const results = await Promise.all([
      ...urls.map((url) => checkNode(url, network, client.address)),
      attempt('jupiter', 'Correct jupiterUrl or JUPITER_API_KEY.', () => checkJupiter(opened)),
      attempt('SOL', 'See what is said of the node.', () => checkSol(opened)),
      attempt('accounts', 'See what is said of the node.', () =>
        checkAccounts(primary, client.address),
      ),
      attempt('journal', 'See docs/journals-and-recovery.md.', () => checkJournal(opened)),
    ]);
    const runtime = ok('runtime', `Node ${process.versions.node}`);
    const findings = [runtime, ...checkFiles(opened), ...results.flat()];
    const isWell = findings.every(({ state }) => state !== 'fail');
    return {
      ...(isWell ? {} : { exit: 'failed' as const }),
      json: { findings },
      text: findingsTable(terminal, findings),
    };
  });

/** Runs a check. If the check itself fails, that is a finding too. */
async function attempt(
  check: string,
  next: string,
  look: () => Promise<Finding[]>,
): Promise<Finding[]> {
  try {
    return await look();
  } catch (error) {
    if (isExactChangeError(error)) return [fail(check, `${error.message} (${error.code})`, next)];
    return [fail(check, error instanceof Error ? error.message : 'failed', next)];
  }
}

function checkFiles({ wallet, settings, client }: OpenClient): Finding[] {
  const { source, isEncrypted } = wallet;
  const where = `${client.address} from ${source}`;
  const isFile = settings.wallet === undefined || 'file' in settings.wallet;
  const advice = isFile ? modeAdvice(source) : undefined;
  const key =
    advice === undefined
      ? ok('wallet', `${where}${isEncrypted ? ', encrypted' : ', not encrypted'}`)
      : warn('wallet', `${where}, which other users may read`, advice);
  return [key, ...checkConfig(settings)];
}

function checkConfig({ configFile, ...settings }: Settings): Finding[] {
  if (configFile === undefined) return [ok('config', 'none; defaults and the environment')];
  const hasKeys = [settings.jupiterApiKey, settings.apiKey, settings.serviceKey].some(
    (key) => key !== undefined,
  );
  const advice = hasKeys ? modeAdvice(configFile) : undefined;
  return [
    advice === undefined
      ? ok('config', configFile)
      : warn('config', `${configFile} may be read by other users`, advice),
  ];
}

async function checkJupiter({ client, settings }: OpenClient): Promise<Finding[]> {
  const startedAt = Date.now();
  const quote = await client.quote({ inputMint: 'SOL', outputMint: 'USDC', uiAmount: '0.01' });
  const says = `0.01 SOL is ${formatUiAmount(BigInt(quote.outAmount), 6)} USDC, answered in ${Date.now() - startedAt} ms`;
  return [
    settings.jupiterApiKey === undefined
      ? warn(
          'jupiter',
          `${says}; without a key`,
          'For more than 30 calls a minute: JUPITER_API_KEY.',
        )
      : ok('jupiter', `${says}; it takes the key`),
  ];
}

async function checkSol({ client, settings }: OpenClient): Promise<Finding[]> {
  const [sol] = await client.balance(['SOL']);
  const kept = `${formatUiAmount(KEEP_LAMPORTS, 9)} SOL`;
  const says = `${sol?.uiAmount ?? '0'} SOL; swaps out of SOL leave ${kept}`;
  const isEnough = BigInt(sol?.amount ?? 0) > KEEP_LAMPORTS;
  if (isEnough || settings.autoSwap === false) return [ok('SOL', says)];
  return [warn('SOL', says, `Send it SOL until it holds more than ${kept}, or use --no-swap.`)];
}

async function checkJournal({ client, settings }: OpenClient): Promise<Finding[]> {
  await client.spent();
  let open = 0;
  for await (const { state } of client.receipts())
    if (state === 'pending' || state === 'uncertain') open += 1;
  return [
    open === 0
      ? ok('journal', `${settings.journal}, no payment is open`)
      : warn('journal', `${settings.journal}, open payments: ${open}`, 'exact-change resume'),
  ];
}

function findingsTable(terminal: Terminal, findings: readonly Finding[]): string {
  const { green, yellow, red } = terminal.colors;
  const paint = { ok: green, warn: yellow, fail: red };
  const rows = findings.flatMap(({ check, state, says, next }) => [
    [paint[state](state), check, says],
    ...(next === undefined ? [] : [['', '', `→ ${next}`]]),
  ]);
  return tableText(terminal, ['', 'check', 'finding'], rows);
}
