import { CommanderError } from 'commander';
import { EXITS, type Exit } from './exits.js';
import { hasCode } from '../../src/internal/error-code.js';
import { SHORTEST_SEED } from '../node/key-shapes.js';
import { buildProgram } from './program.js';
import { cleanForTerminal, jsonText } from './clean.js';
import type { Report } from './report.js';
import type { GlobalFlags } from './settings.js';
import { terminalOf, type Terminal } from './terminal.js';

/** Runs the command of the process's arguments. */
export async function main(): Promise<void> {
  const terminal = terminalOf(process);
  // The output may fail: its reader may end early, as `head` does. A payment must still go on.
  const failures: Error[] = [];
  process.stdout.on('error', (error: Error) => failures.push(error));
  process.stderr.on('error', () => undefined);
  // The library does not keep the process alive while it waits, so do it here.
  const alive = setInterval(() => undefined, 2 ** 30);
  const exit = await runCommand(terminal, failures).finally(() => clearInterval(alive));
  process.exitCode = EXITS[exit][0];
}

/** @param failures - Failed writes of standard output so far. */
async function runCommand(terminal: Terminal, failures: readonly Error[]): Promise<Exit> {
  let report: Report | undefined;
  let isJson = false;
  const [, , first] = process.argv;
  if (first === '--version' || first === '-V') {
    terminal.print((await import('./version.js')).version);
    return 'done';
  }
  const words = process.argv.slice(2).filter((word) => word.length >= SHORTEST_SEED);
  const keys = words.length > 0 ? await import('./key-in-words.js') : undefined;
  const program = buildProgram(async (load, given) => {
    report = await (await load())({ terminal, ...given });
  }, keys?.hideKeys);
  try {
    keys?.refuseKeyIn(words);
    await program.parseAsync(process.argv);
  } catch (error) {
    // The options may not have been read.
    isJson = process.argv.includes('--json');
    if (error instanceof CommanderError && error.exitCode === 0) return 'done';
    const { failureReport, usageReport } = await import('./failure.js');
    report = error instanceof CommanderError ? usageReport(error) : failureReport(error);
  }
  // Such as a question about a payment that took too long: it would keep the process alive.
  terminal.questions.abort();
  if (report === undefined) return 'done';
  isJson ||= program.opts<GlobalFlags>().json === true;
  show(terminal, report, isJson);
  const { link, exit = 'done', funds = 'untouched' } = report;
  // A QR code is for a camera at a screen; in a file or a pipe it is noise.
  if (link !== undefined && !isJson && terminal.stderr.isTTY)
    terminal.say((await import('uqr')).renderUnicodeCompact(link));
  // Errors of writes before this one come before its end.
  await new Promise<void>((resolve) => void terminal.stdout.write('', () => resolve()));
  // A reader that has ended wants no more.
  const lost = failures.find((failure) => !hasCode(failure, 'EPIPE'));
  if (lost === undefined || exit !== 'done') return exit;
  terminal.say(`What belongs on standard output is lost: ${lost.message}`);
  return funds === 'untouched' ? 'failed' : funds;
}

function show(terminal: Terminal, report: Report, isJson: boolean): void {
  const { exit = 'done', funds = 'untouched', json, text = '', notes = [] } = report;
  if (isJson) {
    const object = { ok: exit === 'done', funds, exit: EXITS[exit][0], ...json };
    if (json !== undefined) terminal.print(jsonText(object));
    return;
  }
  if (text !== '') terminal.print(text);
  // A note may repeat what the person typed, or an error of another program.
  for (const note of notes.map(cleanForTerminal))
    terminal.say(exit === 'done' ? note : terminal.errorColors.yellow(note));
}
