import { describe, expect, it } from 'vitest';
import { violations } from './import-rules.js';
import { readSources } from './modules.js';

const check = (files: Record<string, string>) => violations(new Map(Object.entries(files)));

describe('import direction', () => {
  it('is correct in this repository', () => {
    // No rule is about the other tests, which are most of the code.
    const files = readSources('src', 'adapters', 'examples', 'test/fixtures', 'test/corpus');
    expect(files.has('src/index.ts')).toBe(true);
    expect(violations(files)).toEqual([]);
  });

  const WRONG = `
    src/solana/rpc.ts: import { a } from '../protocols/choose.js'; // protocols lies above solana
    src/errors.ts: import type { Plan } from './payments/plan.js'; // payments lies above errors
    src/protocols/exact.ts: import { a } from '../swaps/quote.js'; // swaps are neighbours
    src/policy/caps.ts: export { client } from '../client.js'; // client lies above policy
    src/amount.ts: export type E = import('./client.js').Client; // client lies above amount
    src/swaps/plan.ts: export const f = () => import('../client.js'); // client lies above swaps
    src/utils.ts: import { a } from './amount.js'; // utils has no place
    src/client.ts: import { a } from '../adapters/local/index.js'; // does not know the edges
    src/index.ts: import { a } from '../adapters/sandbox/index.js'; // does not know the edges
    src/payments/pay.ts: import { a } from '../protocols/x402/offers.js'; // by src/protocols/
    src/swaps/firewall/rules.ts: import { a } from '../jupiter/layout.js'; // by src/swaps/provider
    src/payments/plan/plan.ts: import { a } from '../execute/fund.js'; // a plan only reads
    src/swaps/accounts/excess.ts: import { a } from '../firewall/rule.js'; // lie above accounts
    src/swaps/firewall/guard.ts: import { a } from '../transaction/plan.js'; // lies above firewall
    src/client.ts: import { a } from './amount'; // end in .js
    src/journal/memory.ts: import { a } from 'node:fs/promises'; // outside Node
    src/journal/memory.ts: import crypto from 'crypto'; // outside Node
    src/amount.ts: const fs = require('fs'); // outside Node
    src/protocols/exact.ts: import { a } from '@solana/web3.js'; // only src/solana/ may
    src/config.ts: import type { Connection } from '@solana/web3.js'; // only src/solana/ may
    adapters/local.ts: import { a } from '@solana/spl-token'; // only src/solana/ may
    src/payments/fund.ts: import { a } from '@jup-ag/api'; // only src/swaps/ may
    src/wire/swap.ts: import { a } from '../swaps/check-quote.js'; // knows types and leaves only
    adapters/http/handler.ts: import * as a from 'valibot'; // only (src/wire|adapters/ai)/ may
    adapters/sandbox/chain/vm.ts: import { a } from '../../../src/amount.js'; // must not share code
    adapters/sandbox/index.ts: import { a } from 'exact-change'; // must not share code
    test/fixtures/terms.ts: import type { A } from '../../src/protocols/types.js'; // not share code
    examples/demo.ts: import { a } from '../src/index.js'; // by its name
    adapters/cli/client.ts: import { a } from '../../src/index.js'; // the command uses the library
  `;

  it.each(WRONG.trim().split(/\n */))('finds in %s', (line) => {
    const [file = '', text = '', why = ''] = line.split(/: | \/\/ /);
    expect(check({ [file]: text })).toEqual([expect.stringContaining(why)]);
  });

  it.each<[string, Record<string, string>, RegExp]>([
    [
      'a second file that imports Jupiter',
      {
        'src/swaps/a.ts': "import { SwapApi } from '@jup-ag/api';",
        'src/swaps/b.ts': "import type { QuoteResponse } from '@jup-ag/api';",
      },
      /src\/swaps\/a\.ts and src\/swaps\/b\.ts import @jup-ag\/api/,
    ],
    [
      'a second file that imports ky',
      { 'src/internal/http.ts': "import ky from 'ky';", 'src/swaps/b.ts': "import ky from 'ky';" },
      /src\/internal\/http\.ts and src\/swaps\/b\.ts/,
    ],
    [
      'a heavy package behind static imports of index',
      {
        'src/index.ts': "export { createClient } from './client.js';",
        'src/client.ts': "import { x } from './solana/connection.js';",
        'src/solana/connection.ts': "import { Connection } from '@solana/web3.js';",
      },
      /src\/solana\/connection\.ts imports @solana\/web3\.js: the first import/,
    ],
    [
      'a heavy package in an adapter that index composes',
      {
        'src/index.ts': "export { local } from '../adapters/local/index.js';",
        'adapters/local/index.ts': "import { j } from '../../src/swaps/jupiter.js';",
        'src/swaps/jupiter.ts': "import { SwapApi } from '@jup-ag/api';",
      },
      /src\/swaps\/jupiter\.ts imports @jup-ag\/api: the first import/,
    ],
    [
      'a heavy package behind a service',
      {
        'adapters/remote/operations.ts': "import { x } from '../../src/solana/connection.js';",
        'src/solana/connection.ts': "import { Connection } from '@solana/web3.js';",
      },
      /src\/solana\/connection\.ts imports @solana\/web3\.js: the first call of a service/,
    ],
    [
      'files that import each other',
      {
        'src/policy/caps.ts': "import type { Policy } from './policy.js';",
        'src/policy/policy.ts': "import type { Cap } from './caps.js';",
        'src/policy/read.ts': "import type { Cap } from './caps.js';",
      },
      /^src\/policy\/caps\.ts, src\/policy\/policy\.ts: some of them import each other/,
    ],
  ])('finds %s', (_, files, message) => {
    expect(check(files)).toEqual([expect.stringMatching(message)]);
  });

  it('accepts the imports of the layout', () => {
    const files = {
      'src/index.ts':
        "export { local } from '../adapters/local/index.js'; export { createClient } from './client.js';",
      'src/client.ts':
        "import type { Engine } from './payments/engine.js'; export const load = () => import('./payments/engine.js');",
      'src/payments/engine.ts':
        "import { exact } from '../protocols/exact.js'; import { quote } from '../swaps/jupiter.js';",
      'src/protocols/exact.ts': "import { build } from '../solana/transaction.js';",
      'src/swaps/jupiter.ts':
        "import { SwapApi } from '@jup-ag/api'; import { http } from '../internal/http.js';",
      'src/internal/http.ts': "import ky from 'ky';",
      'src/solana/transaction.ts':
        "import { PublicKey } from '@solana/web3.js'; import { fail } from '../errors.js';",
      'src/solana/buffer.ts': "import { Buffer } from 'buffer';",
      'adapters/local/index.ts': "import type { Transport } from '../../src/transport.js';",
      'adapters/sandbox/index.ts':
        "import { createServer } from 'node:http'; import { address } from '@solana/kit';",
      'examples/demo.ts':
        "import { startSandbox } from 'exact-change-sandbox'; import { paint } from './paint.js';",
      'test/integration/pay.test.ts': "import { createClient } from '../../src/index.js';",
    };
    expect(check(files)).toEqual([]);
  });
});
