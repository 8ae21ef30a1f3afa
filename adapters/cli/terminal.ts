import picocolors from 'picocolors';

type Colors = ReturnType<typeof picocolors.createColors>;

/** The streams that a command prints to and asks on. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  /** Colours for standard output; no colours if it is no terminal. */
  readonly colors: Colors;
  /** Colours for standard error; no colours if it is no terminal. */
  readonly errorColors: Colors;
  /** Whether a person can be asked. */
  readonly canAsk: boolean;
  /** Aborted to leave the open question. */
  readonly questions: AbortController;
  /** Prints a line of the result on standard output. */
  print(text: string): void;
  /** Prints any other line on standard error. */
  say(text: string): void;
}

/** Returns the terminal of a process. */
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
    // A question to a pipe would read the next bytes of the pipe as the answer.
    canAsk: stdin.isTTY && stderr.isTTY,
    questions: new AbortController(),
    print: (text) => line(stdout, text),
    say: (text) => line(stderr, text),
  };
}

/** Whether a stream gets colours. As no-color.org says, a non-empty `NO_COLOR` comes first. */
function isColored(stream: NodeJS.WriteStream, env: Terminal['env']): boolean {
  if (env['NO_COLOR']) return false;
  if (env['FORCE_COLOR']) return true;
  return stream.isTTY && env['TERM'] !== 'dumb';
}

/** Asks a question with the default no. Undefined if it was left, as by Ctrl-C. */
export async function askYes(terminal: Terminal, message: string): Promise<boolean | undefined> {
  const { confirm, isCancel } = await import('@clack/prompts');
  const answer = await confirm({ message, initialValue: false, ...streamsOf(terminal) });
  return isCancel(answer) ? undefined : answer;
}

/** Asks for a secret without showing it. Undefined if the question was left, as by Ctrl-C. */
export async function askSecret(terminal: Terminal, message: string): Promise<string | undefined> {
  const { password, isCancel } = await import('@clack/prompts');
  const answer = await password({ message, ...streamsOf(terminal) });
  return isCancel(answer) ? undefined : answer;
}

function streamsOf({ stdin: input, stderr: output, questions: { signal } }: Terminal) {
  return { input, output, signal };
}
