import { isRecord } from '../../../src/internal/record.js';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../../src/network.js';
import { cleanLine } from '../clean.js';
import { ok, warn, type Finding } from './finding.js';
import { askNode } from './rpc.js';

/** Finds accounts of the wallet that payments do not use, because another key may empty them. */
export async function checkAccounts(url: string, wallet: string): Promise<Finding[]> {
  const answers = await Promise.all(
    [TOKEN_PROGRAM, TOKEN_2022_PROGRAM].map((programId) =>
      askNode(url, 'getTokenAccountsByOwner', wallet, { programId }, { encoding: 'jsonParsed' }),
    ),
  );
  const accounts = answers.flatMap(({ result }) => accountsIn(result));
  const findings = accounts.flatMap(({ address, info }) => {
    const why = flaw(info, wallet);
    const next = 'Revoke it with the wallet that set it, or pay with another token.';
    return why === undefined ? [] : [warn(`account ${cleanLine(address)}`, why, next)];
  });
  return findings.length > 0
    ? findings
    : [ok('accounts', `${accounts.length} token accounts, and no other key may spend from them`)];
}

interface ParsedAccount {
  readonly address: string;
  readonly info: Record<string, unknown>;
}

function accountsIn(result: unknown): ParsedAccount[] {
  const list = isRecord(result) && Array.isArray(result['value']) ? result['value'] : [];
  return list.flatMap((entry: unknown) => {
    const info = at(entry, 'account', 'data', 'parsed', 'info');
    const address = at(entry, 'pubkey');
    return isRecord(info) && typeof address === 'string' ? [{ address, info }] : [];
  });
}

function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((field, name) => (isRecord(field) ? field[name] : undefined), value);
}

function flaw(info: Record<string, unknown>, wallet: string): string | undefined {
  const { state, delegate, closeAuthority } = info;
  if (state === 'frozen') return 'is frozen by the issuer of the token';
  if (typeof delegate === 'string')
    return `may be spent from by another key, ${cleanLine(delegate)}`;
  if (typeof closeAuthority === 'string' && closeAuthority !== wallet)
    return `may be closed by another key, ${cleanLine(closeAuthority)}`;
  return undefined;
}
