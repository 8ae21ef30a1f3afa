import {
  address,
  AccountRole,
  getAddressDecoder,
  getProgramDerivedAddress,
  type Address,
} from '@solana/kit';
import type { Sandbox } from 'exact-change-sandbox';
import {
  EVENT_AUTHORITY,
  routeV2,
  VENUE,
  venueBytes,
} from '../../adapters/sandbox/venue/venue.mjs';
import { QuoteError } from '../../src/errors.js';
import { associatedTokenAddress } from '../../src/solana/tokens/accounts.js';
import type { Instruction } from '../../src/solana/types.js';
import type { QuoteIntent, SwapDecoder, SwapSource } from '../../src/swaps/provider.js';
import type { SwapQuote } from '../../src/swaps/types.js';

/** A swap source that a test can observe and change. */
export interface Kiosk extends SwapSource {
  /** Intents of all requested quotes. */
  readonly asked: QuoteIntent[];
  /** If set, replaces each built instruction. */
  lie: ((instruction: Instruction) => Instruction) | undefined;
}

const LOADER = address('BPFLoader2111111111111111111111111111111111');
const EXACT_IN = [0xbb, 0x64, 0xfa, 0xcc, 0x31, 0xc4, 0xaf, 0x14];
const NUMBERS_BYTES = 22;
// Accounts of Jupiter that the kiosk replaces with its program. It emits no events, so it needs no
// event authority.
const OF_JUPITER = [VENUE, EVENT_AUTHORITY];

/**
 * Opens a minimal second swap source at the sandbox's prices. Its program has another address than
 * Jupiter's, and its decoder shares no code with Jupiter's decoder.
 */
export async function openKiosk({ chain, mints }: Sandbox): Promise<Kiosk> {
  const { program, pool } = await freeAddress();
  chain.setAccount(program, {
    ...{ lamports: 1_000_000_000n, data: venueBytes(), owner: LOADER, executable: true },
  });
  const tokens = Object.values(mints);
  for (const mint of tokens) await chain.fundToken(pool, mint, 1_000_000_000_000n);
  const mintOf = (mint: string) => {
    const found = tokens.find((token) => token.address === mint);
    if (found === undefined) throw new Error(`${mint} is not sold here.`);
    return found;
  };
  const kiosk: Kiosk = {
    asked: [],
    lie: undefined,
    decoder: decoderFor(program),
    connect: (_settings, _taker) =>
      Promise.resolve({
        id: 'kiosk',
        quote(intent) {
          kiosk.asked.push(intent);
          const { inputMint, outputMint, amount, swapMode, slippageBps } = intent;
          if (swapMode === 'ExactOut')
            return Promise.reject(
              new QuoteError('no_route', 'Exact inputs alone.', {
                details: { inputMint, outputMint },
              }),
            );
          const out = (amount * mintOf(inputMint).picoUsd) / mintOf(outputMint).picoUsd;
          const quote: SwapQuote = {
            ...{ inputMint, outputMint, swapMode, slippageBps, provider: 'kiosk', raw: {} },
            ...{ inAmount: `${amount}`, maxInAmount: `${amount}`, outAmount: `${out}` },
            minOutAmount: `${leastOf(out, slippageBps)}`,
            ...{ priceImpactBps: 0, platformFeeBps: 0, route: ['Kiosk'], quotedAt: Date.now() },
          };
          return Promise.resolve(quote);
        },
        build(quote, wallet) {
          if (quote.provider !== 'kiosk')
            return Promise.reject(
              new QuoteError('quote_mismatch', 'Not of this kiosk.', {
                details: { reason: 'not of this kiosk' },
              }),
            );
          const [input, output] = [mintOf(quote.inputMint), mintOf(quote.outputMint)];
          const at = (owner: string, { address: mint, tokenProgram }: typeof input) =>
            address(associatedTokenAddress(owner, mint, tokenProgram));
          const built = routeV2({
            ...{
              user: address(wallet),
              source: at(wallet, input),
              destination: at(wallet, output),
            },
            ...{ sourceMint: input.address, destinationMint: output.address },
            ...{ sourceProgram: input.tokenProgram, destinationProgram: output.tokenProgram },
            ...{ vaultIn: at(pool, input), vaultOut: at(pool, output) },
            inAmount: BigInt(quote.inAmount),
            quotedOutAmount: BigInt(quote.outAmount),
            slippageBps: quote.slippageBps,
          });
          const instruction: Instruction = {
            program,
            data: Uint8Array.from(built.data),
            // The last account is the pool's authority, which signs for the vaults.
            accounts: built.accounts.map((account, index, { length }) => ({
              address:
                index === length - 1
                  ? pool
                  : OF_JUPITER.includes(account.address)
                    ? program
                    : account.address,
              signer: account.role === AccountRole.READONLY_SIGNER,
              writable: account.role === AccountRole.WRITABLE,
            })),
          };
          return Promise.resolve({
            instruction: kiosk.lie?.(instruction) ?? instruction,
            lookupTables: [],
          });
        },
      }),
  };
  return kiosk;
}

function decoderFor(program: Address): SwapDecoder {
  return {
    id: 'kiosk',
    name: 'Kiosk',
    programId: program,
    rules: [
      {
        id: 'kiosk_form',
        refuses: 'it is no sale of the kiosk',
        why: 'What is not understood is not signed.',
        passes: ({ data }) => EXACT_IN.every((byte, index) => data[index] === byte),
      },
    ],
    decode({ accounts, data }) {
      const [user, source, destination, sourceMint, destinationMint, sourceProgram, other] =
        accounts.map((account) => account.address);
      const instead = accounts[7]?.address;
      if (data.length < EXACT_IN.length + NUMBERS_BYTES || instead === undefined) return undefined;
      if (user === undefined || source === undefined || destination === undefined) return undefined;
      if (destinationMint === undefined || other === undefined) return undefined;
      const view = new DataView(data.buffer, data.byteOffset + EXACT_IN.length);
      const [inAmount, outAmount] = [view.getBigUint64(0, true), view.getBigUint64(8, true)];
      const slippageBps = view.getUint16(16, true);
      return {
        ...{ user, source, destination, sourceMint, destinationMint, sourceProgram },
        ...{ destinationProgram: other, eitherProgram: [], feeAccount: undefined },
        destinationOverride: instead === program ? undefined : instead,
        ...{ inAmount, outAmount, maxIn: inAmount, minOut: leastOf(outAmount, slippageBps) },
        ...{ slippageBps, platformFeeBps: view.getUint16(18, true) },
        positiveSlippageBps: view.getUint16(20, true),
      };
    },
    errorName: (code) => (code === 6001 ? 'KioskPriceMoved' : undefined),
    isPriceMoved: (reason) => reason.includes('KioskPriceMoved'),
  };
}

/** Returns the least output after slippage, rounded up as the sandbox's program does. */
function leastOf(amount: bigint, slippageBps: number): bigint {
  return amount - (amount * BigInt(slippageBps)) / 10_000n;
}

/** Finds a program address for which the PDA of the pool has bump 255, fixed in the program. */
async function freeAddress(): Promise<{ program: Address; pool: Address }> {
  for (let n = 1; ; n += 1) {
    const program = getAddressDecoder().decode(new Uint8Array(32).fill(n));
    const [pool, bump] = await getProgramDerivedAddress({
      programAddress: program,
      seeds: ['pool'],
    });
    if (bump === 255) return { program, pool };
  }
}
