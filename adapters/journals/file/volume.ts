import * as files from 'node:fs/promises';

/** Magic numbers of statfs(2): file systems that one kernel has to itself, and mounts once. */
const LOCAL = new Set([
  0xef53, // ext2, ext3, ext4
  0x58465342, // XFS
  0x9123683e, // Btrfs
  0xf2f52010, // F2FS
  0x2fc12fc1, // ZFS
  0xca451a4e, // bcachefs
  0x794c7630, // overlay: what a container writes
  0x01021994, // tmpfs
]);

/** Node has it from 18.15 on. */
const { statfs }: { readonly statfs?: typeof files.statfs } = files;

const LOCAL_PREFIX = 'local';

/**
 * Where a directory is, so that two processes of one kernel that say the same find the same sockets
 * in it: the kind of a local file system, or else the number of its device. A network file system
 * that is mounted twice has two, and refuses in one what listens in the other.
 */
export async function volumeOf(directory: string): Promise<string> {
  const [stats, system] = await Promise.all([
    files.stat(directory, { bigint: true }),
    statfs?.(directory).catch(() => undefined),
  ]);
  return system !== undefined && LOCAL.has(system.type)
    ? `${LOCAL_PREFIX} ${system.type.toString(16)}`
    : String(stats.dev);
}

/**
 * Whether one kernel at a time has it: if another one has it now, all processes of the first have
 * ended.
 */
export function isLocal(volume: string): boolean {
  return volume.startsWith(LOCAL_PREFIX);
}
