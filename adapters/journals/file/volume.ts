import * as files from 'node:fs/promises';

/** Magic numbers of statfs(2) of local file systems: a single kernel uses them, and mounts once. */
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

/** Node has `statfs` from 18.15 on. */
const { statfs }: { readonly statfs?: typeof files.statfs } = files;

const LOCAL_PREFIX = 'local';

/**
 * Returns the volume of a directory: the kind of a local file system, or else its device number.
 * Two processes of one kernel with the same volume reach the same sockets in the directory. A
 * network file system that is mounted twice has two device numbers: a socket of one mount refuses
 * connections through the other.
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
 * Whether only one kernel at a time can use the volume: if another kernel uses it now, all
 * processes of the previous kernel have ended.
 */
export function isLocal(volume: string): boolean {
  return volume.startsWith(LOCAL_PREFIX);
}
