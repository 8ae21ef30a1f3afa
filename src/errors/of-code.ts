import {
  ConfigError,
  ExactChangeError,
  FundsError,
  PolicyError,
  ProtocolError,
  QuoteError,
  SettlementError,
  TransactionError,
  TransportError,
  type ErrorInit,
} from '../errors.js';
import { CODES, type ErrorCode, type Group } from './codes.js';

const CLASSES: { readonly [G in Group]: { readonly prototype: ExactChangeError } } = {
  Config: ConfigError,
  Protocol: ProtocolError,
  Policy: PolicyError,
  Funds: FundsError,
  Quote: QuoteError,
  Transaction: TransactionError,
  Settlement: SettlementError,
  Transport: TransportError,
};

/**
 * Creates an error of the class of its code, for codes that are only known when the program runs.
 */
export function errorOfCode<C extends ErrorCode>(
  code: C,
  message: string,
  init: ErrorInit<C>,
): ExactChangeError<C> {
  const error = new ExactChangeError(code, message, init);
  Object.setPrototypeOf(error, CLASSES[CODES[code][0]].prototype);
  return error;
}
