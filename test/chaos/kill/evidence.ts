import { existsSync } from 'node:fs';
import { copyFile, rm } from 'node:fs/promises';
import { address, getBase58Decoder, getTransactionDecoder } from '@solana/kit';
import { SOLANA_MAINNET, type Attempt } from 'exact-change';
import { fileJournal } from 'exact-change/journal/file';
import type { Sandbox } from 'exact-change-sandbox';
import { landed, signaturesOf, tokenAccount, tokenAmount } from '../../helpers/chain.js';

/** A transaction of the wallet, with the USDC that it moved. */
export interface Move {
  readonly signature: string;
  readonly failed: boolean;
  /** Base units that came into the wallet's account. */
  readonly change: bigint;
  /** Base units that came into the merchant's account. */
  readonly received: bigint;
}

/** Reads every transaction of the wallet from the node, oldest first. */
export async function movesOf(sandbox: Sandbox, wallet: string): Promise<Move[]> {
  const walletAccount = await tokenAccount(wallet, sandbox.mints.USDC);
  const merchantAccount = await tokenAccount(sandbox.merchant, sandbox.mints.USDC);
  const signatures = (await signaturesOf(sandbox.rpcUrl, wallet)).reverse();
  return Promise.all(
    signatures.map(async (signature) => {
      const { error, tokens } = await landed(sandbox.rpcUrl, signature);
      const changeOf = (account: string) =>
        tokens.find((token) => token.account === account)?.change ?? 0n;
      return {
        signature,
        failed: error !== null,
        change: changeOf(walletAccount),
        received: changeOf(merchantAccount),
      };
    }),
  );
}

/** Reads the attempts as a new process sees them, from a copy: opening a journal writes into it. */
export async function attemptsIn(path: string, wallet: string): Promise<Attempt[]> {
  if (!existsSync(path)) return [];
  const copy = `${path}.copy.jsonl`;
  for (const part of ['', '.history']) {
    await rm(`${copy}${part}`, { force: true });
    if (existsSync(`${path}${part}`)) await copyFile(`${path}${part}`, `${copy}${part}`);
  }
  const journal = fileJournal(copy);
  const attempts: Attempt[] = [];
  for await (const attempt of journal.attempts({ wallet, network: SOLANA_MAINNET }))
    attempts.push(attempt);
  await journal.close();
  return attempts;
}

/** A paid request in the merchant's ledger. */
export interface Line {
  /** The wallet's own signature on the presented payment, in base58. */
  readonly payerSignature: string;
  /** Whether the facilitator reported a settlement that reached the merchant. */
  readonly settled: boolean;
}

/** Returns the lines of the merchant's ledger for the URL. */
export function linesOf(sandbox: Sandbox, wallet: string, url: string): Line[] {
  const lines = sandbox.controls.api.served.filter((line) => sandbox.apiUrl + line.url === url);
  return lines.map(({ paymentHeader, settled }) => ({
    payerSignature: signatureIn(paymentHeader, wallet),
    settled: settled === true,
  }));
}

function signatureIn(paymentHeader: string, wallet: string): string {
  const { payload }: { payload: { transaction: string } } = JSON.parse(
    Buffer.from(paymentHeader, 'base64').toString('utf8'),
  );
  const { signatures } = getTransactionDecoder().decode(Buffer.from(payload.transaction, 'base64'));
  const signature = signatures[address(wallet)];
  if (!signature) throw new Error('The merchant was shown a payment that the wallet did not sign.');
  return getBase58Decoder().decode(signature);
}

export function usdcOf(sandbox: Sandbox, owner: string): Promise<bigint> {
  return tokenAmount(sandbox.rpcUrl, owner, sandbox.mints.USDC);
}
