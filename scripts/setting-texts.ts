/** A setting of the command in words, by its name in the configuration file. */
interface SettingText {
  /** Absent if it can be set in the file alone. */
  readonly variable?: string;
  readonly flag?: string;
  readonly says: string;
}

/** The settings, in the order of the table in docs/cli.md. */
export const settingTexts: Readonly<Record<string, SettingText>> = {
  wallet: {
    variable: 'EXACT_CHANGE_KEY_FILE',
    flag: '--wallet',
    says: 'an encrypted wallet, or a key file of the Solana tools; default `wallet.json` beside the settings file',
  },
  rpcUrl: {
    variable: 'SOLANA_RPC_URL',
    flag: '--rpc-url',
    says: 'one node or several: a list in JSON, commas in the variable, or the option repeated',
  },
  wsUrl: { variable: 'EXACT_CHANGE_WS_URL', flag: '--ws-url', says: 'the WebSocket of the node' },
  jupiterUrl: {
    variable: 'JUPITER_URL',
    flag: '--jupiter-url',
    says: 'the source of swaps; `EXACT_CHANGE_JUPITER_URL` sets it too',
  },
  jupiterApiKey: { variable: 'JUPITER_API_KEY', says: 'the key for Jupiter' },
  apiUrl: {
    variable: 'EXACT_CHANGE_API_URL',
    says: 'a [service](service.md) that quotes and builds swaps',
  },
  apiKey: { variable: 'EXACT_CHANGE_API_KEY', says: 'the key for the service' },
  network: {
    variable: 'EXACT_CHANGE_NETWORK',
    flag: '--network',
    says: '`mainnet`, `devnet` or `testnet`',
  },
  autoSwap: {
    variable: 'EXACT_CHANGE_AUTO_SWAP',
    flag: '--no-swap',
    says: '`false`: payments never swap; default `true`',
  },
  swapFrom: { variable: 'EXACT_CHANGE_SWAP_FROM', says: 'tokens to swap from, in order' },
  journal: {
    variable: 'EXACT_CHANGE_JOURNAL',
    flag: '--journal',
    says: 'the file that records payments and budgets; default `payments.jsonl` in the state folder',
  },
  policy: {
    variable: 'EXACT_CHANGE_MAX_PER_PAYMENT',
    flag: '--max',
    says: 'all options of [policy](policy.md#options-of-policy) except `approve`; `EXACT_CHANGE_MAX_PER_DAY` and `--max-per-day` too',
  },
  serviceKey: {
    variable: 'EXACT_CHANGE_SERVICE_KEY',
    says: 'for `serve`: the key that callers send; by default the command makes a key once',
  },
};
