import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

// `require`, because the package has no types for this export.
const { default: workerd } = createRequire(import.meta.url)('workerd') as { default: string };

export interface Worker {
  readonly url: string;
  /** Returns all output so far. */
  printed(): string;
  close(): Promise<void>;
}

/** Runs a single-file script with text bindings in workerd, which may reach only the loopback. */
export async function startWorker(
  script: string,
  texts: Readonly<Record<string, string>>,
): Promise<Worker> {
  const folder = await mkdtemp(join(tmpdir(), 'exact-change-worker-'));
  await writeFile(join(folder, 'worker.mjs'), script);
  await writeFile(join(folder, 'worker.capnp'), configuration(texts));
  // workerd reports its port on the control channel.
  const child = spawn(workerd, ['serve', join(folder, 'worker.capnp'), '--control-fd=3'], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  const printed: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (text) => printed.push(String(text)));
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const port = await new Promise<number>((resolve, reject) => {
    child.once('close', () => reject(new Error(`workerd ended: ${printed.join('')}`)));
    const control = child.stdio[3];
    if (control === null || control === undefined || !('read' in control))
      return reject(new TypeError('There is no control channel.'));
    createInterface({ input: control }).once('line', (line) =>
      resolve((JSON.parse(line) as { port: number }).port),
    ); // The format of --control-fd.
  });
  return {
    url: `http://127.0.0.1:${port}`,
    printed: () => printed.join(''),
    async close() {
      child.kill();
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function configuration(texts: Readonly<Record<string, string>>): string {
  const bindings = Object.entries(texts).map(
    ([name, text]) => `(name = ${JSON.stringify(name)}, text = ${JSON.stringify(text)})`,
  );
  return `
    using Workerd = import "/workerd/workerd.capnp";
    const config :Workerd.Config = (
      services = [
        (
          name = "service",
          worker = (
            modules = [(name = "worker.mjs", esModule = embed "worker.mjs")],
            compatibilityDate = "2026-01-01",
            globalOutbound = "loopback",
            bindings = [${bindings.join(', ')}]
          )
        ),
        (name = "loopback", network = (allow = ["private"]))
      ],
      sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "service")]
    );`;
}
