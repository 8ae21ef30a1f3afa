import { homedir } from 'node:os';

/** Returns a path with a leading `~` replaced by the home folder. */
export function expandHome(path: string): string {
  return path.replace(/^~(?=[/\\]|$)/, () => homedir());
}
