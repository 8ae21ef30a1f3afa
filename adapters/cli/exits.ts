/**
 * Exit codes and when a command ends with them, for the table of docs/cli.md. Failures that curl
 * has too (6, 7, 22, 28, 60) have curl's codes.
 */
export const EXITS = {
  done: [0, 'The command succeeded; for `fetch`: the seller answered'],
  failed: [1, 'The command failed for a reason without a code of its own'],
  usage: [2, 'The command, an option, a setting or a key is wrong'],
  refused: [3, 'A cap, a list or the person refused'],
  short: [4, 'Nothing can be paid: the wallet holds too little, or no offer fits'],
  noHost: [6, 'The host of an address is not known'],
  noConnection: [7, 'A seller, a node or Jupiter cannot be reached'],
  httpError: [22, 'With `-f`: the seller answered with a status of 400 or above'],
  timeout: [28, 'A step took too long'],
  tls: [60, 'The certificate of a server is not valid'],
  swapped: [70, 'Tokens were swapped, but nothing was paid'],
  uncertain: [75, 'A transaction may still land: run `exact-change resume`, or look up the swap'],
  spent: [76, 'The call is paid, but its answer is lost'],
  interrupted: [130, 'Ctrl-C, and no transaction of the command can land'],
} as const satisfies Readonly<Record<string, readonly [code: number, when: string]>>;

export type Exit = keyof typeof EXITS;
