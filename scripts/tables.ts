import { outcomes } from '../src/autopay/outcomes.js';
import { attemptStates } from '../src/journal/states.js';

/** README's text with the tables that come from the code, between their marks. */
export function withTables(readme: string): string {
  const states = Object.entries(attemptStates).map(([name, { meaning, counts, next, onCrash, onRepeat }]) => {
    const after = next.filter((one) => one !== name).map(code);
    return [code(name), meaning, counts ? 'yes' : 'no', after.join(', '), onCrash, onRepeat];
  });
  const answers = Object.entries(outcomes).map(([name, { when, call, delivered, askFirst, resign }]) => {
    const chain = askFirst ? 'before the call ends' : 'in the background';
    return [code(name), when, call.includes(' ') ? call : code(call), delivered ? 'yes' : 'no', chain, resign ? 'yes' : 'no'];
  });
  const stateHead = ['State', 'Meaning', 'Counts against caps', 'May become', 'After a crash', 'An equal call'];
  const answerHead = ['Outcome', 'When', 'The call gives', 'Delivered', 'The chain is asked', '`policy.resign`'];
  return between(between(readme, 'attempt states', table(stateHead, states)), 'outcomes', table(answerHead, answers));
}

function code(text: string): string {
  return `\`${text}\``;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

function between(text: string, mark: string, content: string): string {
  const [open, close] = [`<!-- ${mark} -->`, `<!-- /${mark} -->`];
  const [start, end] = [text.indexOf(open), text.indexOf(close)];
  if (start === -1 || end < start) throw new Error(`README.md has no place for the table "${mark}".`);
  return `${text.slice(0, start + open.length)}\n\n${content}\n\n${text.slice(end)}`;
}
