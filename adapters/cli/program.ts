import { Command, InvalidArgumentError, Option } from 'commander';
import type { Invocation, Command as Run } from './report.js';
import type { Ledger } from '../receipts/ledger.js';
import type { Group } from './spending.js';

const STATES = ['pending', 'settled', 'unsettled', 'uncertain'] as const;
const LEDGERS = ['hledger', 'beancount'] as const satisfies readonly Ledger[];
const GROUPS = ['day', 'host', 'token'] as const satisfies readonly Group[];

/** Loads a command and runs it. */
export type Runner = <Flags>(
  load: () => Promise<Run<Flags>>,
  given: Pick<Invocation<Flags>, 'flags' | 'args'>,
) => Promise<void>;

/**
 * Returns the commands and their options. The code of a command is loaded when it is called, so
 * `--help` loads only this file.
 *
 * @param shown - Returns the text of an error as it is printed. Default: as it is.
 */
export function buildProgram(run: Runner, shown = (text: string) => text): Command {
  const runs =
    <Flags>(load: () => Promise<Run<Flags>>) =>
    (...actionArgs: readonly unknown[]): Promise<void> => {
      const command = actionArgs[actionArgs.length - 1];
      if (!(command instanceof Command)) throw new TypeError('Commander gives the command last.');
      return run(load, { flags: command.optsWithGlobals(), args: command.args });
    };

  const program = withGlobals(new Command('exact-change'))
    .description('Calls APIs that ask for payment (402), and pays them from a wallet on Solana.')
    .configureHelp({ showGlobalOptions: false })
    .showHelpAfterError('(exact-change --help lists the commands and their options)')
    .configureOutput({ outputError: (text, write) => write(shown(text)) })
    .exitOverride();

  program
    .command('fetch')
    .description('call an address, and pay if it asks for payment; options are as in curl')
    .argument('<url>', 'https unless it says otherwise')
    .option('-X, --request <method>', 'GET, or POST with data')
    .option('-H, --header <line>', 'a header, such as "Accept: application/json"', collect)
    .option('-d, --data <text>', 'a body; @file reads a file, @- standard input', collect)
    .option(
      '--data-binary <text>',
      'a body like --data, with the line breaks of a file kept',
      collect,
    )
    .option('-o, --output <file>', 'write the answer to a file, not to standard output')
    .option('-i, --include', 'show the status and headers too')
    .option('-f, --fail', 'end with 22 if the status is 400 or above')
    .option('-L, --location', 'follow redirects, until something is paid')
    .option('-s, --silent', 'print only failures on standard error')
    .option('--dry-run', 'print what the call would cost; sign nothing')
    .option('--idempotency-key <key>', 'a key that every retry of one purchase repeats', notEmpty)
    .option('--repeatable', 'present a payment with a lost answer again, even if it has landed')
    .addOption(yes())
    .action(runs(async () => (await import('./commands/fetch.js')).fetchCommand));

  program
    .command('balance')
    .description('show the balances of the wallet')
    .argument('[token...]', 'symbols or mints; all, if none is given')
    .action(runs(async () => (await import('./commands/balance.js')).balanceCommand));

  withSwap(program.command('quote'))
    .description('show the price of a swap')
    .action(runs(async () => (await import('./commands/quote.js')).quoteCommand));

  withSwap(program.command('swap'))
    .description('swap tokens without any payment; counts against no cap')
    .option('-y, --yes', 'swap without asking')
    .action(runs(async () => (await import('./commands/swap.js')).swapCommand));

  program
    .command('pay')
    .description('make the payment for a 402 that another program got, and print its header')
    .argument('[file]', 'the 402 as `curl -i` shows it, or its body; - is standard input', '-')
    .requiredOption('--url <url>', 'the address that asked for payment')
    .addOption(yes())
    .action(runs(async () => (await import('./commands/pay.js')).payCommand));

  program
    .command('receipts')
    .description('list the payments')
    .option('--csv', 'as CSV')
    .addOption(new Option('--ledger <program>', 'as double entries').choices(LEDGERS))
    .addOption(
      new Option(
        '--chart <by>',
        'what receipts cost, as bars; `budget` also counts other swaps',
      ).choices(GROUPS),
    )
    .option('-n, --last <number>', 'only the last receipts', wholeNumber)
    .option('--since <time>', 'receipts since a date (2026-07-01) or an age (7d, 12h)', time)
    .option('--until <time>', 'receipts before a date or an age', time)
    .option('--host <host>', 'payments to one host, with its port as in the URL')
    .option('--token <token>', 'payments in one token')
    .addOption(new Option('--state <state>', 'payments in one state').choices(STATES))
    .action(runs(async () => (await import('./commands/receipts.js')).receiptsCommand));

  program
    .command('budget')
    .description('show how much of each cap is used')
    .action(runs(async () => (await import('./commands/budget.js')).budgetCommand));

  program
    .command('resume')
    .description('ask the chain about payments that earlier commands left open')
    .option('--no-wait', 'print the present state and do not wait')
    .action(runs(async () => (await import('./commands/resume.js')).resumeCommand));

  program
    .command('inspect')
    .description('judge a foreign swap transaction by the firewall; sign nothing')
    .argument('[transaction]', 'base64, a file with it, or - for standard input', '-')
    .requiredOption('--in <token>', 'the token that leaves')
    .requiredOption('--out <token>', 'the token that arrives')
    .requiredOption('--max-in <amount>', 'the most that may leave')
    .requiredOption('--min-out <amount>', 'the least that must arrive')
    .option('--address <address>', 'the wallet that is asked to sign; default: yours')
    .action(runs(async () => (await import('./commands/inspect.js')).inspectCommand));

  const wallet = program.command('wallet').description('make, import or show the wallet');
  wallet
    .command('new')
    .description('make a key and store it encrypted')
    .option('--out <file>', 'the file to write')
    .action(runs(async () => (await import('./commands/wallet.js')).newWallet));
  wallet
    .command('import')
    .description('store a key encrypted; the command asks for it, or reads standard input')
    .option('--from <file>', 'a key file, such as ~/.config/solana/id.json')
    .option('--out <file>', 'the file to write')
    .allowExcessArguments()
    .action(runs(async () => (await import('./commands/wallet.js')).importWallet));
  wallet
    .command('show')
    .description('show the address of the wallet, and the file of its key')
    .action(runs(async () => (await import('./commands/wallet.js')).showWallet));

  program
    .command('serve')
    .description('run the REST service with webhooks on this machine; it holds no key')
    .option('--port <number>', 'port to listen on', port, 4021)
    .option('--hostname <name>', 'host to listen on; default 127.0.0.1: only this machine')
    .option('--ui', 'add a page that shows payments, budgets and webhooks as they happen')
    .action(runs(async () => (await import('./commands/serve.js')).serveCommand));

  program
    .command('mcp')
    .description('offer tools to a model over MCP, on standard input and output')
    .option(
      '--ask-above <dollars>',
      'ask the person about calls that cost more in all, with swap and fees',
      '0.10',
    )
    .option('--allow-private', 'let the model call this machine and private networks')
    .action(runs(async () => (await import('./commands/mcp.js')).mcpCommand));

  program
    .command('doctor')
    .description('check key, node, Jupiter, SOL, clock, accounts and journal')
    .action(runs(async () => (await import('./commands/doctor.js')).doctorCommand));

  program
    .command('completion')
    .description('print a script that completes commands in bash; in zsh after bashcompinit')
    .action(
      runs(async () => {
        const { completionScript } = await import('./commands/completion.js');
        const script = completionScript(program);
        return async () => ({ json: { script }, text: script });
      }),
    );

  return program;
}

function withGlobals(program: Command): Command {
  return program
    .option('-V, --version', 'show the version')
    .option('--json', 'print one JSON object')
    .option('--wallet <file>', 'an encrypted wallet, or a key file of the Solana tools')
    .option(
      '--passphrase-fd <number>',
      'read the passphrase of the wallet from a file descriptor',
      wholeNumber,
    )
    .option('--max <dollars>', 'cap on the total cost of one payment (policy.maxPerPayment)')
    .option('--max-per-day <dollars>', 'cap on 24 hours (policy.maxPerDay)')
    .option('--no-swap', 'pay only from the balance of the token')
    .option('--network <name>', 'mainnet, devnet or testnet')
    .option('--rpc-url <url>', 'a Solana node; repeat the option for more nodes', collect)
    .option('--ws-url <url>', 'the WebSocket of the node')
    .option('--jupiter-url <url>', 'the source of swaps')
    .option('--journal <file>', 'the record of payments and budgets')
    .option('--config <file>', 'settings in JSON');
}

function withSwap(command: Command): Command {
  return command
    .argument('<in>', 'the token that leaves: a symbol or a mint')
    .argument('<out>', 'the token that arrives')
    .requiredOption('--amount <amount>', 'a decimal amount, such as 0.25', decimal)
    .option('--exact-out', 'the amount is the output')
    .option('--slippage-bps <number>', 'basis points', wholeNumber);
}

function yes(): Option {
  return new Option('-y, --yes', 'pay without asking, up to --max');
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** Refuses empty text, such as of a script's variable that is not set: it would be no key at all. */
function notEmpty(text: string): string {
  if (text === '') throw new InvalidArgumentError('It must not be empty.');
  return text;
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

function decimal(text: string): string {
  if (!/^\d+(\.\d+)?$/.test(text) || Number(text) === 0)
    throw new InvalidArgumentError('It must be an amount such as 0.25.');
  return text;
}

function port(text: string): number {
  const number = wholeNumber(text);
  if (number > 65_535) throw new InvalidArgumentError('It must be from 0 to 65535.');
  return number;
}

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses a date or an age into milliseconds since the epoch. */
function time(text: string): number {
  const [, count, unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  if (count !== undefined) return Date.now() - Number(count) * (UNITS[unit] ?? 0);
  const at = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(at))
    throw new InvalidArgumentError('It must be a date such as 2026-07-01, or an age such as 7d.');
  return at;
}
