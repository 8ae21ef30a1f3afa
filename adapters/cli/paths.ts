import { existsSync, statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';

type Env = Readonly<Record<string, string | undefined>>;

const OWN_FOLDER = 'exact-change';

/** Returns the folder of the settings and the wallet. */
export function configFolder(env: Env): string {
  return join(base(env, 'XDG_CONFIG_HOME', 'APPDATA', '.config'), OWN_FOLDER);
}

/** Returns the folder of the journal, which all commands of a user share. */
export function stateFolder(env: Env): string {
  return join(base(env, 'XDG_STATE_HOME', 'LOCALAPPDATA', '.local/state'), OWN_FOLDER);
}

/** Returns a base folder. As the XDG specification says, a relative path is ignored. */
function base(env: Env, xdg: string, windows: string, fallback: string): string {
  const names = process.platform === 'win32' ? [xdg, windows] : [xdg];
  const fromEnv = names
    .map((name) => env[name])
    .find((path) => path !== undefined && isAbsolute(path));
  return fromEnv ?? join(homedir(), fallback);
}

/** Returns a path with a leading `~` replaced by the home folder. */
export function expandHome(path: string): string {
  return path.replace(/^~(?=[/\\]|$)/, () => homedir());
}

/**
 * Makes the folder of a file, for its owner alone. If it cannot, the error of the file says so. Not
 * with `recursive`: Node would try without end in /proc.
 */
export async function makeFolderOf(file: string): Promise<void> {
  const folder = dirname(file);
  if (existsSync(folder)) return;
  await makeFolderOf(folder);
  await mkdir(folder, { mode: 0o700 }).catch(() => undefined);
}

/** Returns what to do if other users may read a file with keys; undefined if they may not. */
export function modeAdvice(path: string): string | undefined {
  // Windows has no permission bits.
  const isOpen = process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0;
  return isOpen ? `Let its owner alone read it: chmod 600 ${path}` : undefined;
}
