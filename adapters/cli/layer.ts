import type { ClientOptions } from 'exact-change';

/** Client options that the settings have under the same names. */
export const NODE_NAMES = [
  ...(['rpcUrl', 'wsUrl', 'jupiterUrl', 'jupiterApiKey', 'apiUrl', 'apiKey'] as const),
  ...(['network', 'autoSwap', 'swapFrom', 'policy'] as const),
] as const;

export type NodeOptions = Pick<ClientOptions, (typeof NODE_NAMES)[number]>;

/** Where the key of the wallet is: in a file, or in the environment. */
export type WalletPlace = { readonly file: string } | { readonly secretKey: string };

/** Settings of one source: flags, environment or configuration file. */
export interface Layer extends NodeOptions {
  readonly wallet?: WalletPlace | undefined;
  readonly journal?: string | undefined;
  readonly serviceKey?: string | undefined;
}
