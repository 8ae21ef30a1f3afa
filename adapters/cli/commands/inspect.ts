import {
  FundsError,
  SOLANA_MAINNET,
  inspectSwap,
  local,
  parseUiAmount,
  type SwapVerdict,
} from 'exact-change';
import { refuse } from '../../../src/internal/options.js';
import { pinnedMint } from '../../../src/network.js';
import { readInput } from '../input.js';
import type { Command } from '../report.js';
import { networkOf, readSettings } from '../settings.js';
import { tableText } from '../table.js';
import type { Terminal } from '../terminal.js';
import { mintOf } from '../tokens.js';
import { openWallet } from '../wallet.js';

export interface InspectFlags {
  readonly in: string;
  readonly out: string;
  readonly maxIn: string;
  readonly minOut: string;
  readonly address?: string;
}

/** Shows the firewall's verdict on a swap transaction that another party built. */
export const inspectCommand: Command<InspectFlags> = async ({ terminal, flags, args }) => {
  const [source = '-'] = args;
  const settings = readSettings(flags, terminal.env);
  const { rpcUrl, wsUrl, network = SOLANA_MAINNET } = settings;
  const cluster = networkOf(settings);
  const wallet =
    flags.address ??
    openWallet(settings.wallet, { terminal, fd: flags.passphraseFd }).signer.address;
  const node = { rpcUrl, wsUrl, network };
  const transport = local(node);
  const inUnits = async (option: string, mint: string, text: string): Promise<bigint> => {
    const decimals =
      pinnedMint(cluster, mint)?.decimals ??
      (await transport.balance({ wallet, mint: [mint] }))[0]?.decimals;
    if (decimals === undefined)
      throw new FundsError('unknown_mint', `There is no token ${mint} on this network.`, {
        details: { mint },
      });
    const units = parseUiAmount(text, decimals);
    if (units === undefined)
      throw refuse(option, `must be an amount such as 0.25, with at most ${decimals} decimals.`);
    return units;
  };
  try {
    const [inputMint, outputMint] = [mintOf(flags.in, cluster), mintOf(flags.out, cluster)];
    const [maxInAmount, minOutAmount] = await Promise.all([
      inUnits('--max-in', inputMint, flags.maxIn),
      inUnits('--min-out', outputMint, flags.minOut),
    ]);
    const verdict = await inspectSwap(await readTransaction(source, terminal), {
      ...{ ...node, wallet, inputMint, outputMint, maxInAmount, minOutAmount },
    });
    return {
      exit: verdict.accepted ? 'done' : 'refused',
      json: { verdict },
      text: verdictText(terminal, verdict),
    };
  } finally {
    await transport.close();
  }
};

/** Returns a transaction in base64. `source` is base64, the path of a file, or `-` for stdin. */
async function readTransaction(source: string, terminal: Terminal): Promise<string> {
  const isText = source.length > 100 && /^[A-Za-z0-9+/=]+$/.test(source);
  return isText ? source : (await readInput(terminal, source)).toString().trim();
}

function verdictText(terminal: Terminal, verdict: SwapVerdict): string {
  const { colors } = terminal;
  const { accepted, summary, programs, rules, guarded, recomposed } = verdict;
  const rows = rules.map(({ stage, id, outcome }) => [
    outcome === 'passed'
      ? colors.green(outcome)
      : outcome === 'broken'
        ? colors.red(outcome)
        : outcome,
    stage,
    id,
  ]);
  return [
    accepted ? colors.green('ACCEPTED') : colors.red('REFUSED'),
    summary,
    `Programs: ${programs.map(({ address, name }) => name ?? address).join(', ')}`,
    tableText(terminal, ['', 'stage', 'rule'], rows),
    ...(recomposed === undefined || (accepted && guarded)
      ? []
      : [`The same swap, composed anew and guarded: ${recomposed.transaction}`]),
  ].join('\n');
}
