import { base64 } from '../../internal/bytes.js';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../network.js';
import { Fault } from './fault.js';
import {
  asAddress,
  asFields,
  asList,
  asText,
  errorText,
  orNull,
  readAccount,
  readContext,
  safeInteger,
} from './reply.js';
import type { CallOptions, Rpc } from './rpc.js';
import { checked, COMMITMENT, leastSlot, settings } from './tip.js';

/** Asks the nodes by a method, and reads the answer. */
export type Ask = <T>(
  method: string,
  params: readonly unknown[],
  call: CallOptions | undefined,
  read: (result: unknown) => T,
) => Promise<T>;

/**
 * What an {@link Rpc} asks for swaps, and for what became of a payment that its seller does not
 * prove.
 */
export function rareMethods(
  ask: Ask,
): Pick<Rpc, 'tokenAccounts' | 'firstSlot' | 'rent' | 'priorityFees' | 'send' | 'signaturesFor'> {
  return {
    tokenAccounts: async (owner, call) => {
      const config = { ...settings(call), encoding: 'base64' };
      const ofProgram = (programId: string) => {
        const params = [...checked([owner]), { programId }, config];
        return ask('getTokenAccountsByOwner', params, call, (result) => {
          const { slot, value } = readContext(result, call);
          const accounts = asList(value).map((one) => {
            const { pubkey, account } = asFields(one);
            return { address: asAddress(pubkey), account: readAccount(account) };
          });
          return { slot, accounts };
        });
      };
      const [classic, extended] = await Promise.all([
        ofProgram(TOKEN_PROGRAM),
        ofProgram(TOKEN_2022_PROGRAM),
      ]);
      return {
        slot: Math.min(classic.slot, extended.slot),
        accounts: [...classic.accounts, ...extended.accounts],
      };
    },

    firstSlot: (call) => ask('getFirstAvailableBlock', [], call, safeInteger),

    rent: (bytes, call) =>
      ask('getMinimumBalanceForRentExemption', [bytes, settings(undefined)], call, (result) => {
        const lamports = safeInteger(result);
        if (lamports === 0) throw new Fault('invalid', 'rent is never zero');
        return BigInt(lamports);
      }),

    priorityFees: async (accounts, call) =>
      ask('getRecentPrioritizationFees', [checked(accounts)], call, (result) =>
        asList(result).map((fee) => BigInt(safeInteger(asFields(fee)['prioritizationFee']))),
      ),

    send: (transaction, call) => {
      const config = {
        encoding: 'base64',
        skipPreflight: true,
        maxRetries: 0,
        ...leastSlot(call),
      };
      return ask('sendTransaction', [base64.encode(transaction), config], call, () => undefined);
    },

    signaturesFor: async (address, call) => {
      const { limit, before, until } = call ?? {};
      const config = { commitment: COMMITMENT, limit, before, until, ...leastSlot(call) };
      const params = [...checked([address]), config];
      return ask('getSignaturesForAddress', params, call, (result) =>
        asList(result).map((one) => {
          const { signature, slot, err, memo } = asFields(one);
          return {
            signature: asText(signature),
            slot: safeInteger(slot),
            error: errorText(err),
            memo: orNull(memo, asText),
          };
        }),
      );
    },
  };
}
