import type { Argument, Command, Option } from 'commander';
import { EXITS } from '../adapters/cli/exits.js';
import { buildProgram } from '../adapters/cli/program.js';
import { outcomes } from '../src/payments/execute/outcomes.js';
import { CODES, errorCodes } from '../src/errors/codes.js';
import { attemptStates } from '../src/journal/states.js';
import { firewallRules, type FirewallStage, ruleTexts } from '../src/swaps/firewall/catalog.js';
import { changeTexts } from '../src/solana/transactions/wallet-changes.js';
import { commonErrors, errorTexts } from './error-texts.js';
import { outcomeTexts, stateTexts } from './state-texts.js';
import { settingTexts } from './setting-texts.js';
import { stageTexts } from './firewall-stages.js';
import { swapDecoders } from '../src/swaps/sources.js';

/** Functions that generate parts of the documents, by document and mark. */
const parts: Readonly<Record<string, Readonly<Record<string, () => string>>>> = {
  'README.md': { 'common errors': firstErrors },
  'docs/cli.md': { commands, settings, 'exit codes': exits },
  'docs/errors.md': { 'error codes': allErrors },
  'docs/journals-and-recovery.md': { 'attempt states': states, outcomes: answers },
  'SECURITY.md': { 'firewall rules': firewall, 'wallet rules': wallets },
};

export const documents: readonly string[] = Object.keys(parts);

/** Returns a document's text with the generated content between its marks. */
export function withTables(document: string, text: string): string {
  return Object.entries(parts[document] ?? {}).reduce(
    (current, [mark, content]) => between(document, current, mark, content()),
    text,
  );
}

/** Returns typed entries. The cast is safe, because tables in code have no extra keys. */
function entriesOf<K extends string, V>(table: Readonly<Record<K, V>>): [K, V][] {
  return Object.entries(table) as [K, V][];
}

function states(): string {
  const rows = entriesOf(attemptStates).map(([name, { counts, next }]) => {
    const { meaning, onCrash, onRepeat } = stateTexts[name];
    const after = next.filter((state) => state !== name).map(code);
    return [code(name), meaning, counts ? 'yes' : 'no', after.join(', '), onCrash, onRepeat];
  });
  return table(
    ['State', 'Meaning', 'Counts against caps', 'May become', 'After a crash', 'An equal call'],
    rows,
  );
}

function answers(): string {
  const rows = entriesOf(outcomes).map(([name, { call, delivered, askFirst, resign }]) => {
    const chain = askFirst ? 'before the call ends' : 'in the background';
    return [
      code(name),
      outcomeTexts[name],
      call.includes(' ') ? call : code(call),
      delivered ? 'yes' : 'no',
      chain,
      resign ? 'yes' : 'no',
    ];
  });
  return table(
    ['Outcome', 'When', 'The call gives', 'Delivered', 'The chain is asked', '`policy.resign`'],
    rows,
  );
}

function allErrors(): string {
  const rows = errorCodes.map((name) => {
    const [group, retry] = CODES[name];
    const { when, remedy } = errorTexts[name];
    return [code(name), code(`${group}Error`), when, remedy, code(retry)];
  });
  return table(['Code', 'Class', 'When', 'What to do', '`retry`'], rows);
}

function firstErrors(): string {
  const rows = commonErrors.map((name) => [
    code(name),
    errorTexts[name].when,
    errorTexts[name].remedy,
  ]);
  return table(['Code', 'When', 'What to do'], rows);
}

function firewall(): string {
  const rules = ruleTexts(firewallRules(swapDecoders));
  const stages = [...new Set(rules.map(({ stage }) => stage))];
  return stages.map((stage) => stageTable(stage, rules)).join('\n\n');
}

function stageTable(stage: FirewallStage, rules: ReturnType<typeof ruleTexts>): string {
  const { looksAt, provedBy } = stageTexts[stage];
  const rows = rules
    .filter((rule) => rule.stage === stage)
    .map(({ rule: { id, refuses, why } }) => [code(id), refuses, why]);
  return `**${code(stage)}** looks at ${looksAt}. Proved by ${provedBy.map(code).join(', ')}.\n\n${table(['Rule', 'Refuses it if', 'Why'], rows)}`;
}

function commands(): string {
  const program = buildProgram(() => Promise.resolve());
  const pathsOf = (command: Command, path: string): [string, Command][] =>
    command.commands.flatMap((child) => {
      const name = `${path}${child.name()}`;
      return child.commands.length > 0 ? pathsOf(child, `${name} `) : [[name, child]];
    });
  const options = (command: Pick<Command, 'options'>, indent: string) =>
    command.options.map((option) => `${indent}- ${code(option.flags)}: ${optionText(option)}`);
  const lines = pathsOf(program, '').flatMap(([name, command]) => {
    const args = command.registeredArguments.map(argumentText);
    const line = `- ${code([name, ...args].join(' '))}: ${command.description()}`;
    return [line, ...options(command, '  ')];
  });
  const global = ['Each command also takes these options:', '', ...options(program, '')];
  return [...lines, '', ...global].join('\n');
}

function optionText({ description, argChoices, defaultValue, negate }: Option): string {
  const choices = argChoices ? ` (${argChoices.map(code).join(', ')})` : '';
  const isGiven = defaultValue !== undefined && !negate;
  return `${description}${choices}${isGiven ? `; default ${defaultValue}` : ''}`;
}

function argumentText(argument: Argument): string {
  const text = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${text}>` : `[${text}]`;
}

function settings(): string {
  const rows = Object.entries(settingTexts).map(([name, { variable, flag, says }]) => [
    ...[code(name), variable === undefined ? '' : code(variable)],
    ...[flag === undefined ? '' : code(flag), says],
  ]);
  return table(['In the file', 'Variable', 'Option', ''], rows);
}

function exits(): string {
  return table(
    ['Code', 'When'],
    Object.values(EXITS).map(([number, when]) => [code(String(number)), when]),
  );
}

function wallets(): string {
  return table(
    ['Rule', 'Refuses it if', 'Why'],
    changeTexts.map(({ id, refuses, why }) => [code(id), refuses, why]),
  );
}

function code(text: string): string {
  return `\`${text}\``;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

function between(document: string, text: string, mark: string, content: string): string {
  const [open, close] = [`<!-- ${mark} -->`, `<!-- /${mark} -->`];
  const [start, end] = [text.indexOf(open), text.indexOf(close)];
  if (start === -1 || end < start) throw new Error(`${document} has no place for "${mark}".`);
  return `${text.slice(0, start + open.length)}\n\n${content}\n\n${text.slice(end)}`;
}
