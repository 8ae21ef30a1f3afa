import type { Command as Program } from 'commander';

/** Words that may follow each command, by the command's path: `''`, `wallet`, `wallet new`. */
type Words = ReadonlyMap<string, readonly string[]>;

/** Returns a bash script that completes commands and their options. */
export function completionScript(program: Program): string {
  const words = wordsOf(program);
  const paths = [...words.keys()].filter((path) => path !== '');
  const steps = paths.map((path) => {
    const at = Math.max(path.lastIndexOf(' '), 0);
    return `      '${path.slice(0, at)} ${path.slice(at).trim()}') path='${path}' ;;`;
  });
  const cases = [...words].map(([path, next]) => `    '${path}') echo '${next.join(' ')}' ;;`);
  // The script skips words that are no command, so options do not break the path.
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
    const options = command === program ? [] : command.options.map(({ long }) => long ?? '');
    const subcommands = command.commands.map((subcommand) => subcommand.name());
    words.set(path.join(' '), [...subcommands, ...options, ...global]);
    for (const subcommand of command.commands) visit(subcommand, [...path, subcommand.name()]);
  };
  visit(program, []);
  return words;
}
