import type { Command as Program } from 'commander';

/** What may follow each command, by its path: `''`, `wallet`, `wallet new`. */
type Words = ReadonlyMap<string, readonly string[]>;

/** A script for bash that completes commands and their options. */
export function completionScript(program: Program): string {
  const words = wordsOf(program);
  const paths = [...words.keys()].filter((path) => path !== '');
  const steps = paths.map((path) => {
    const at = Math.max(path.lastIndexOf(' '), 0);
    return `      '${path.slice(0, at)} ${path.slice(at).trim()}') path='${path}' ;;`;
  });
  const cases = [...words].map(([path, all]) => `    '${path}') echo '${all.join(' ')}' ;;`);
  // The path of commands is made of those words of the line that name one.
  return `_exact_change_words() {
  local path='' word
  for word in "$@"; do
    case "$path $word" in
${steps.join('\n')}
    esac
  done
  case "$path" in
${cases.join('\n')}
  esac
}
_exact_change() {
  COMPREPLY=($(compgen -W "$(_exact_change_words "\${COMP_WORDS[@]:1:COMP_CWORD-1}")" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _exact_change exact-change
`;
}

function wordsOf(program: Program): Words {
  const global = program.options.map(({ long }) => long ?? '');
  const words = new Map<string, readonly string[]>();
  const visit = (command: Program, path: readonly string[]): void => {
    const own = command === program ? [] : command.options.map(({ long }) => long ?? '');
    const below = command.commands.map((one) => one.name());
    words.set(path.join(' '), [...below, ...own, ...global]);
    for (const one of command.commands) visit(one, [...path, one.name()]);
  };
  visit(program, []);
  return words;
}
