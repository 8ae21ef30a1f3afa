import type { Address } from '@solana/kit';
import { toBase58, toBase64, view } from '../chain/bytes.js';
import type { Json } from '../chain/json.js';
import { LOOKUP_TABLE_PROGRAM, readLookupTable } from '../chain/tables.js';
import { readMint, readToken } from '../chain/token.js';
import { TOKEN_PROGRAM } from '../mints.js';
import type { ChainAccount } from '../types.js';
import { invalidParams, RpcError } from './faults.js';
import type { Config } from './params.js';

const MOST_BASE58 = 128;
/** The rent epoch of a rent-exempt account. */
const NO_RENT = 0xffff_ffff_ffff_ffffn;

export type Read = (address: Address) => ChainAccount | undefined;

/** Returns an account in the requested encoding and slice. */
export function encodeAccount(account: ChainAccount, config: Config, read: Read): Json {
  return {
    lamports: account.lamports,
    owner: account.owner,
    data: encodeData(account, config, read),
    executable: account.executable,
    rentEpoch: NO_RENT,
    space: account.data.length,
  };
}

function encodeData(account: ChainAccount, config: Config, read: Read): Json {
  const encoding = config.string('encoding') ?? 'binary';
  if (encoding === 'jsonParsed')
    return parsedData(account, read) ?? [toBase64(account.data), 'base64'];
  const slice = config.object('dataSlice');
  const offset = slice?.integer('offset') ?? 0;
  const data = slice
    ? account.data.slice(offset, offset + (slice.integer('length') ?? 0))
    : account.data;
  if (encoding === 'base64') return [toBase64(data), 'base64'];
  if (encoding !== 'binary' && encoding !== 'base58')
    throw invalidParams(`Invalid params: the sandbox does not speak the encoding \`${encoding}\`.`);
  if (data.length > MOST_BASE58) {
    throw new RpcError(
      -32600,
      'Encoded binary (base 58) data should be less than 128 bytes, please use Base64 encoding.',
    );
  }
  return encoding === 'binary' ? toBase58(data) : [toBase58(data), 'base58'];
}

function parsedData(account: ChainAccount, read: Read): Json | undefined {
  const parsed = parsedToken(account, read) ?? parsedMint(account) ?? parsedTable(account);
  if (parsed === undefined) return undefined;
  const program =
    account.owner === LOOKUP_TABLE_PROGRAM
      ? 'address-lookup-table'
      : account.owner === TOKEN_PROGRAM
        ? 'spl-token'
        : 'spl-token-2022';
  return { program, parsed, space: account.data.length };
}

function parsedToken(account: ChainAccount, read: Read): Json | undefined {
  const token = readToken(account);
  const mint = token && readMint(read(token.mint));
  if (!token || !mint) return undefined;
  return {
    type: 'account',
    info: {
      mint: token.mint,
      owner: token.owner,
      tokenAmount: uiTokenAmount(token.amount, mint.decimals),
      state: token.frozen ? 'frozen' : 'initialized',
      isNative: token.nativeReserve !== undefined,
      rentExemptReserve:
        token.nativeReserve === undefined
          ? undefined
          : uiTokenAmount(token.nativeReserve, mint.decimals),
      delegate: token.delegate?.address,
      delegatedAmount: token.delegate && uiTokenAmount(token.delegate.amount, mint.decimals),
      closeAuthority: token.closeAuthority,
    },
  };
}

function parsedMint(account: ChainAccount): Json | undefined {
  const mint = readMint(account);
  if (!mint) return undefined;
  const { decimals, supply, mintAuthority = null, freezeAuthority = null } = mint;
  return {
    type: 'mint',
    info: {
      decimals,
      supply: supply.toString(),
      isInitialized: true,
      mintAuthority,
      freezeAuthority,
    },
  };
}

function parsedTable(account: ChainAccount): Json | undefined {
  const addresses = readLookupTable(account);
  if (!addresses) return undefined;
  const numbers = view(account.data);
  return {
    type: 'lookupTable',
    info: {
      addresses,
      deactivationSlot: numbers.getBigUint64(4, true).toString(),
      lastExtendedSlot: numbers.getBigUint64(12, true).toString(),
      lastExtendedSlotStartIndex: account.data[20] ?? 0,
    },
  };
}

export function uiTokenAmount(amount: bigint, decimals: number): Json {
  const digits = amount.toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '');
  const text = fraction ? `${whole}.${fraction}` : whole;
  return { amount: amount.toString(), decimals, uiAmount: Number(text), uiAmountString: text };
}
