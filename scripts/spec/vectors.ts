import { amounts } from './vectors/amounts.js';
import { approved } from './vectors/approved.js';
import { compositions } from './vectors/compositions.js';
import { firewall } from './vectors/firewall.js';
import { attempts, balances, costs, stores } from './vectors/journal.js';
import { journals } from './vectors/journals.js';
import { keys } from './vectors/keys.js';
import { messages, payments, transactions } from './vectors/messages.js';
import { candidates, inner, instructions, quotes } from './vectors/swaps.js';
import { relayed } from './vectors/relayed.js';
import { fingerprints, headers, json, terms } from './vectors/terms.js';
import { text } from './vectors/text.js';
import { tokens } from './vectors/tokens.js';
import { walletChanges } from './vectors/wallets.js';
import { operationsOf, problems, webhooks } from './vectors/wire.js';

/** Test vectors by file name: a row for each input with its output. */
export const vectors: Readonly<Record<string, () => Promise<unknown[]> | unknown[]>> = {
  'amounts.jsonl': amounts,
  'json.jsonl': json,
  'headers.jsonl': headers,
  'terms.jsonl': terms,
  'fingerprints.jsonl': fingerprints,
  'text.jsonl': text,
  'attempts.jsonl': attempts,
  'balances.jsonl': balances,
  'costs.jsonl': costs,
  'stores.jsonl': stores,
  'journals.jsonl': journals,
  'problems.jsonl': problems,
  'operations.jsonl': operationsOf,
  'webhooks.jsonl': webhooks,
  'quotes.jsonl': quotes,
  'instructions.jsonl': instructions,
  'compositions.jsonl': compositions,
  'inner.jsonl': inner,
  'approved.jsonl': () => Promise.all(approved()),
  'relayed.jsonl': relayed,
  'candidates.jsonl': candidates,
  'firewall.jsonl': firewall,
  'keys.jsonl': keys,
  'messages.jsonl': messages,
  'transactions.jsonl': transactions,
  'payments.jsonl': payments,
  'tokens.jsonl': tokens,
  'wallet-changes.jsonl': walletChanges,
};
