/** Texts of a command's setting for the documentation. */
interface SettingText {
  /** Environment variable; absent if only the file can set it. */
  readonly variable?: string;
  readonly flag?: string;
  readonly says: string;
}

/** The settings by name in the configuration file, in the order of the table in docs/cli.md. */
export const settingTexts: Readonly<Record<string, SettingText>> = {
  wallet: {
    variable: 'EXACT_CHANGE_KEY_FILE',
    flag: '--wallet',
    says: 'an encrypted wallet, or a key file of the Solana tools; default `wallet.json` beside the file',
  },
  rpcUrl: {
    variable: 'SOLANA_RPC_URL',
    flag: '--rpc-url',
    says: 'one node or several: a list in JSON, commas in the variable, the option again',
  },
  wsUrl: { variable: 'EXACT_CHANGE_WS_URL', flag: '--ws-url', says: 'the WebSocket of the node' },
  jupiterUrl: {
    variable: 'JUPITER_URL',
    flag: '--jupiter-url',
    says: 'where swaps come from; `EXACT_CHANGE_JUPITER_URL` is the same',
  },
  jupiterApiKey: { variable: 'JUPITER_API_KEY', says: 'its key' },
  apiUrl: {
    variable: 'EXACT_CHANGE_API_URL',
    says: 'a [service](service.md) that quotes and builds swaps',
  },
  apiKey: { variable: 'EXACT_CHANGE_API_KEY', says: 'its key' },
  network: {
    variable: 'EXACT_CHANGE_NETWORK',
    flag: '--network',
    says: '`mainnet`, `devnet` or `testnet`',
  },
  autoSwap: {
    variable: 'EXACT_CHANGE_AUTO_SWAP',
    flag: '--no-swap',
    says: '`false`: a token that is short is not swapped for; default `true`',
  },
  swapFrom: { variable: 'EXACT_CHANGE_SWAP_FROM', says: 'tokens to swap from, in order' },
  journal: {
    variable: 'EXACT_CHANGE_JOURNAL',
    flag: '--journal',
    says: 'where payments and budgets are kept; default `payments.jsonl` in the state folder',
  },
  policy: {
    variable: 'EXACT_CHANGE_MAX_PER_PAYMENT',
    flag: '--max',
    says: 'all of [policy](policy.md#options-of-policy) but `approve`; `EXACT_CHANGE_MAX_PER_DAY` and `--max-per-day` too',
  },
  serviceKey: {
    variable: 'EXACT_CHANGE_SERVICE_KEY',
    says: 'of `serve`: the key that callers send; default one that is made once',
  },
};
