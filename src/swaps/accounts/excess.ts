import { SYSTEM_PROGRAM } from '../../solana/programs.js';
import type { CallOptions, Rpc } from '../../solana/rpc/rpc.js';
import { compileMessage } from '../../solana/transactions/compile.js';
import { withdrawExcessLamports } from '../../solana/transactions/instructions.js';
import { assembleTransaction } from '../../solana/transactions/transaction.js';
import type { Address } from '../../solana/types.js';
import { createOwn, intoWallet } from './own-instructions.js';
import type { OwnAccount } from './own-account.js';

/**
 * Returns the lamports beyond its rent that the wallet can withdraw from its account; 0n if the
 * token program has no such instruction, as older ones have not. Otherwise one lamport, which any
 * wallet may send, would stop each swap of the account. A simulation without the venue tells.
 *
 * @param bytes - See `rentedBytes`.
 */
export async function readExcess(
  node: Pick<Rpc, 'rent' | 'simulate'>,
  wallet: Address,
  account: Pick<OwnAccount, 'address' | 'mint' | 'tokenProgram' | 'lamports'>,
  bytes: number | undefined,
  options: CallOptions,
): Promise<bigint> {
  const { address, lamports } = account;
  if (bytes === undefined || lamports <= (await node.rent(bytes, options))) return 0n;
  const message = compileMessage({
    feePayer: wallet,
    instructions: [createOwn(wallet, account), withdrawExcessLamports(intoWallet(wallet, account))],
    // The node simulates with a blockhash of its own.
    blockhash: SYSTEM_PROGRAM,
  });
  const wire = assembleTransaction(message, new Map());
  const { error, accounts } = await node.simulate(wire, [address], options);
  const left = accounts[0]?.lamports ?? lamports;
  return error === null && left < lamports ? lamports - left : 0n;
}
