import {
  SystemProgram,
  TransactionMessage,
  PublicKey,
  TransactionInstruction,
} from '@solana/web3.js';
import type { Ledger } from './ledger.js';
import type { Token } from './market.js';
import { accountOf, signAsWallet, SOL, STRANGER, WALLET } from './places.js';
import type { Random } from './random.js';
import { writeWire } from './wire.js';

/** A stranger's transactions with the wallet: dust to it, and spending by another program. */
export interface Stranger {
  send(mint: string, amount: number): void;
  spend(mint: string, amount: number): void;
}

export function createStranger(ledger: Ledger, tokens: readonly Token[], random: Random): Stranger {
  const move = (from: string, to: string, mint: string, amount: number): void => {
    const token = tokens.find((known) => known.mint === mint);
    if (token === undefined) return;
    const instruction =
      mint === SOL ? lamports(from, to, amount) : transfer(from, to, token, amount);
    const recentBlockhash = ledger.hashAt(ledger.slot() - 1);
    const message = new TransactionMessage({
      payerKey: new PublicKey(from),
      recentBlockhash,
      instructions: [instruction],
    })
      .compileToV0Message()
      .serialize();
    ledger.land(writeWire(message, [from === WALLET ? signAsWallet(message) : random.bytes(64)]));
  };
  return {
    send: (mint, amount) => move(STRANGER, WALLET, mint, amount),
    spend: (mint, amount) => move(WALLET, STRANGER, mint, amount),
  };
}

function lamports(from: string, to: string, amount: number): TransactionInstruction {
  return SystemProgram.transfer({
    fromPubkey: new PublicKey(from),
    toPubkey: new PublicKey(to),
    lamports: amount,
  });
}

function transfer(
  from: string,
  to: string,
  { mint, program, decimals }: Token,
  amount: number,
): TransactionInstruction {
  const data = Buffer.alloc(10);
  data[0] = 12;
  data.writeBigUInt64LE(BigInt(amount), 1);
  data[9] = decimals;
  const key = (pubkey: string, isWritable: boolean, isSigner = false) => ({
    pubkey: new PublicKey(pubkey),
    isSigner,
    isWritable,
  });
  return new TransactionInstruction({
    programId: new PublicKey(program),
    keys: [
      key(accountOf(from, mint, program), true),
      key(mint, false),
      key(accountOf(to, mint, program), true),
      key(from, false, true),
    ],
    data,
  });
}
