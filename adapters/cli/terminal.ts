import picocolors from 'picocolors';

type Colors = ReturnType<typeof picocolors.createColors>;

/** What a command prints to and asks on. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  /** Colours for standard output, and for standard error; none if it is no terminal. */
  readonly colors: Colors;
  readonly errorColors: Colors;
  /** A person is there to be asked. */
  readonly canAsk: boolean;
  /** A line on standard output: what was asked for. */
  print(text: string): void;
  /** A line on standard error: all else. */
  say(text: string): void;
}

/** The streams of a process. */
export function terminalOf({
  env,
  stdin,
  stdout,
  stderr,
}: Pick<NodeJS.Process, 'env' | 'stdin' | 'stdout' | 'stderr'>): Terminal {
  const line = (stream: NodeJS.WriteStream, text: string) =>
    void stream.write(text.endsWith('\n') ? text : `${text}\n`);
  return {
    ...{ env, stdin, stdout, stderr },
    colors: picocolors.createColors(isColored(stdout, env)),
    errorColors: picocolors.createColors(isColored(stderr, env)),
    // A question to a pipe would take whatever comes next in it for an answer.
    canAsk: stdin.isTTY && stderr.isTTY,
    print: (text) => line(stdout, text),
    say: (text) => line(stderr, text),
  };
}

/** By no-color.org: set and not empty, it wins. */
function isColored(stream: NodeJS.WriteStream, env: Terminal['env']): boolean {
  if (env['NO_COLOR']) return false;
  if (env['FORCE_COLOR']) return true;
  return stream.isTTY && env['TERM'] !== 'dumb';
}

/** A question that only `y` says yes to; undefined if it was left with Ctrl-C. */
export async function askYes(terminal: Terminal, message: string): Promise<boolean | undefined> {
  const { confirm, isCancel } = await import('@clack/prompts');
  const { stdin: input, stderr: output } = terminal;
  const answer = await confirm({ message, initialValue: false, input, output });
  return isCancel(answer) ? undefined : answer;
}

/** Text that is not shown; undefined if it was left with Ctrl-C. */
export async function askSecret(terminal: Terminal, message: string): Promise<string | undefined> {
  const { password, isCancel } = await import('@clack/prompts');
  const { stdin: input, stderr: output } = terminal;
  const answer = await password({ message, input, output });
  return isCancel(answer) ? undefined : answer;
}
