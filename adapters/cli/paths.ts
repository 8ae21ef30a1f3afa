import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

type Env = Readonly<Record<string, string | undefined>>;

const OWN_FOLDER = 'exact-change';

/** Where settings and the wallet are kept. */
export function configFolder(env: Env): string {
  return join(base(env, 'XDG_CONFIG_HOME', 'APPDATA', '.config'), OWN_FOLDER);
}

/** Where the journal is kept, which all commands of a user share. */
export function stateFolder(env: Env): string {
  return join(base(env, 'XDG_STATE_HOME', 'LOCALAPPDATA', '.local/state'), OWN_FOLDER);
}

/** By the XDG specification, which has a relative path ignored. */
function base(env: Env, xdg: string, windows: string, fallback: string): string {
  const names = process.platform === 'win32' ? [xdg, windows] : [xdg];
  const given = names
    .map((name) => env[name])
    .find((path) => path !== undefined && isAbsolute(path));
  return given ?? join(homedir(), fallback);
}

/** A path as people write it: `~` is the home folder. */
export function expandHome(path: string): string {
  return path.replace(/^~(?=[/\\]|$)/, () => homedir());
}
