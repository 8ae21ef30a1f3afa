import type { Address } from '@solana/kit';
import { FINALITY } from '../chain/blocks.js';
import { fromBase58, parseAddress } from '../chain/bytes.js';
import type { Commitment } from '../chain/history.js';
import type { Json } from '../chain/json.js';
import { invalidParams, RpcError } from './faults.js';

const COMMITMENTS: Readonly<Record<string, Commitment>> = {
  processed: 'processed',
  recent: 'processed',
  confirmed: 'confirmed',
  single: 'confirmed',
  finalized: 'finalized',
  max: 'finalized',
  root: 'finalized',
};

/** The options object of a call. */
export class Config {
  constructor(private readonly fields: Readonly<Record<string, unknown>> = {}) {}

  static from(value: unknown): Config {
    if (!isObject(value))
      throw invalidParams('Invalid params: invalid type, expected a map of options.');
    return new Config(value);
  }

  /** Returns the options with an added field. */
  with(name: string, value: unknown): Config {
    return new Config({ ...this.fields, [name]: value });
  }

  has(name: string): boolean {
    return this.fields[name] !== undefined && this.fields[name] !== null;
  }

  flag(name: string): boolean {
    return (
      this.typed(name, 'boolean', (value): value is boolean => typeof value === 'boolean') ?? false
    );
  }

  integer(name: string): number | undefined {
    return this.typed(
      name,
      'integer',
      (value): value is number => Number.isInteger(value) && Number(value) >= 0,
    );
  }

  string(name: string): string | undefined {
    return this.typed(name, 'string', (value): value is string => typeof value === 'string');
  }

  list(name: string): readonly unknown[] | undefined {
    return this.typed(name, 'sequence', (value): value is unknown[] => Array.isArray(value));
  }

  object(name: string): Config | undefined {
    const fields = this.typed(name, 'map', isObject);
    return fields && new Config(fields);
  }

  address(name: string): Address | undefined {
    return this.has(name) ? toAddress(this.fields[name]) : undefined;
  }

  /** Returns the commitment; `finalized` by default, as on every node. */
  commitment(name = 'commitment'): Commitment {
    const text = this.string(name);
    const commitment = text === undefined ? 'finalized' : COMMITMENTS[text];
    if (!commitment)
      throw invalidParams(
        `Invalid params: unknown variant \`${text ?? ''}\`, expected one of processed, confirmed, finalized`,
      );
    return commitment;
  }

  private typed<T>(name: string, type: string, is: (value: unknown) => value is T): T | undefined {
    const value = this.fields[name];
    if (value === undefined || value === null) return undefined;
    if (!is(value))
      throw invalidParams(`Invalid params: invalid type of \`${name}\`, expected ${type}.`);
    return value;
  }
}

/** The arguments of a call. A wrong argument leads to an error answer, never to a crash. */
export class Params {
  private readonly values: readonly unknown[];

  constructor(params: unknown) {
    if (params !== undefined && params !== null && !Array.isArray(params))
      throw invalidParams('Invalid params: expected a list of arguments.');
    this.values = params ?? [];
  }

  has(index: number): boolean {
    return this.values[index] !== undefined && this.values[index] !== null;
  }

  get(index: number): unknown {
    const value = this.values[index];
    if (value === undefined)
      throw invalidParams(`\`params\` should have at least ${index + 1} argument(s)`);
    return value;
  }

  string(index: number): string {
    const value = this.get(index);
    if (typeof value !== 'string')
      throw invalidParams('Invalid params: invalid type, expected a string.');
    return value;
  }

  integer(index: number): number {
    const value = this.get(index);
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
      throw invalidParams('Invalid params: invalid type, expected u64.');
    return value;
  }

  list(index: number, most: number): readonly unknown[] {
    const value = this.get(index);
    if (!Array.isArray(value))
      throw invalidParams('Invalid params: invalid type, expected a sequence.');
    if (value.length > most) throw invalidParams(`Too many inputs provided; max ${most}`);
    return value;
  }

  address(index: number): Address {
    return toAddress(this.get(index));
  }

  /** Returns the options at an index. A bare string sets the option `bare`, as old clients do. */
  config(index: number, bare = 'encoding'): Config {
    const value = this.values[index] ?? {};
    if (typeof value === 'string') return new Config({ [bare]: value });
    return Config.from(value);
  }
}

export function toAddress(value: unknown): Address {
  const address = parseAddress(value);
  if (address) return address;
  const bytes = typeof value === 'string' ? fromBase58(value) : undefined;
  throw invalidParams(`Invalid param: ${bytes ? 'WrongSize' : 'Invalid'}`);
}

export function toSignature(value: unknown): string {
  const bytes = typeof value === 'string' && value.length <= 128 ? fromBase58(value) : undefined;
  if (typeof value !== 'string' || bytes?.length !== 64)
    throw invalidParams(`Invalid param: ${bytes ? 'WrongSize' : 'Invalid'}`);
  return value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Returns the slot in the answer to a read at a commitment. Accounts are always the newest; only
 * this slot, blockhashes and history depend on the commitment.
 */
export function contextSlot(chain: { readonly slot: bigint }, commitment: Commitment): bigint {
  return commitment === 'finalized' ? chain.slot - FINALITY : chain.slot;
}

/** Returns the slot for an answer. Throws if it is below the requested `minContextSlot`. */
export function slotFor(
  chain: { readonly slot: bigint },
  config: Config,
  commitment = config.commitment(),
): bigint {
  const slot = contextSlot(chain, commitment);
  const least = config.integer('minContextSlot');
  if (least !== undefined && slot < BigInt(least)) {
    throw new RpcError(-32016, 'Minimum context slot has not been reached', { contextSlot: slot });
  }
  return slot;
}

export const API_VERSION = '2.3.0';

export function withContext(slot: bigint, value: Json): Json {
  return { context: { apiVersion: API_VERSION, slot }, value };
}
