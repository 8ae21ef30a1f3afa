import { describe, expect, it } from 'vitest';
import { violations } from './import-rules.js';
import { readSources } from './modules.js';

const check = (files: Record<string, string>) => violations(new Map(Object.entries(files)));

describe('import direction', () => {
  it('is correct in this repository', { timeout: 120_000 }, () => {
    // No rule is about the other tests, which are most of the code.
    const files = readSources('src', 'adapters', 'examples', 'test/fixtures', 'test/corpus');
    expect(files.has('src/index.ts')).toBe(true);
    expect(violations(files)).toEqual([]);
  });

  it.each<[string, Record<string, string>, RegExp]>([
    [
      'a lower part that imports a higher one',
      { 'src/solana/rpc.ts': "import { choose } from '../protocols/choose.js';" },
      /protocols lies above solana/,
    ],
    [
      'a type from a higher part',
      { 'src/errors.ts': "import type { Plan } from './payments/plan.js';" },
      /payments lies above errors/,
    ],
    [
      'parts of the same row',
      { 'src/protocols/exact.ts': "import { q } from '../swaps/quote.js';" },
      /protocols and swaps are neighbours/,
    ],
    [
      'an export from a higher part',
      { 'src/policy/caps.ts': "export { client } from '../client.js';" },
      /client lies above policy/,
    ],
    [
      'a type in import() form',
      { 'src/amount.ts': "export type E = import('./client.js').Client;" },
      /client lies above amount/,
    ],
    [
      'a dynamic import of a higher part',
      { 'src/swaps/plan.ts': "export const f = () => import('../client.js');" },
      /client lies above swaps/,
    ],
    [
      'a part without a place',
      { 'src/utils.ts': "import { a } from './amount.js';" },
      /utils has no place/,
    ],
    [
      'src that imports an adapter',
      { 'src/client.ts': "import { local } from '../adapters/local/index.js';" },
      /does not know the edges/,
    ],
    [
      'index that imports another adapter',
      { 'src/index.ts': "import { s } from '../adapters/sandbox/index.js';" },
      /does not know the edges/,
    ],
    [
      'a protocol, around its port',
      { 'src/payments/pay.ts': "import { readOffers } from '../protocols/x402/offers.js';" },
      /by src\/protocols\/protocol\.ts alone/,
    ],
    [
      'a source of swaps, around its port',
      { 'src/swaps/firewall/rules.ts': "import { forms } from '../jupiter/layout.js';" },
      /by src\/swaps\/provider\.ts alone/,
    ],
    [
      'a relative import without .js',
      { 'src/client.ts': "import { a } from './amount';" },
      /end in \.js/,
    ],
    [
      'a Node module by its prefix',
      { 'src/journal/memory.ts': "import { readFile } from 'node:fs/promises';" },
      /outside Node/,
    ],
    [
      'a Node module by its bare name',
      { 'src/journal/memory.ts': "import crypto from 'crypto';" },
      /outside Node/,
    ],
    ['a Node module by require', { 'src/amount.ts': "const fs = require('fs');" }, /outside Node/],
    [
      'web3.js outside src/solana',
      { 'src/protocols/exact.ts': "import { PublicKey } from '@solana/web3.js';" },
      /only src\/solana\/ may/,
    ],
    [
      'a type of web3.js outside src/solana',
      { 'src/config.ts': "import type { Connection } from '@solana/web3.js';" },
      /only src\/solana\/ may/,
    ],
    [
      'spl-token in an adapter',
      { 'adapters/local.ts': "import { getMint } from '@solana/spl-token';" },
      /only src\/solana\/ may/,
    ],
    [
      'Jupiter outside src/swaps',
      { 'src/payments/fund.ts': "import { SwapApi } from '@jup-ag/api';" },
      /only src\/swaps\/ may/,
    ],
    [
      'a second file that imports Jupiter',
      {
        'src/swaps/a.ts': "import { SwapApi } from '@jup-ag/api';",
        'src/swaps/b.ts': "import type { QuoteResponse } from '@jup-ag/api';",
      },
      /src\/swaps\/a\.ts and src\/swaps\/b\.ts import @jup-ag\/api/,
    ],
    [
      'the wire that loads a module to describe',
      { 'src/wire/swap.ts': "import { checkQuote } from '../swaps/check-quote.js';" },
      /knows types and leaves only/,
    ],
    [
      'a schema outside the wire',
      { 'adapters/http/handler.ts': "import * as v from 'valibot';" },
      /only \(src\/wire\|adapters\/ai\)\/ may/,
    ],
    [
      'a second file that imports ky',
      { 'src/internal/http.ts': "import ky from 'ky';", 'src/swaps/b.ts': "import ky from 'ky';" },
      /src\/internal\/http\.ts and src\/swaps\/b\.ts/,
    ],
    [
      'the sandbox that imports src',
      { 'adapters/sandbox/chain/vm.ts': "import { a } from '../../../src/amount.js';" },
      /must not share code/,
    ],
    [
      'the sandbox that imports the package',
      { 'adapters/sandbox/index.ts': "import { a } from 'exact-change';" },
      /must not share code/,
    ],
    [
      'a test builder that imports src',
      { 'test/fixtures/terms.ts': "import type { A } from '../../src/protocols/types.js';" },
      /must not share code/,
    ],
    [
      'an example that imports src',
      { 'examples/demo.ts': "import { createClient } from '../src/index.js';" },
      /by its name/,
    ],
    [
      'the command, around the package name of the library',
      { 'adapters/cli/client.ts': "import { createClient } from '../../src/index.js';" },
      /the command uses the library by its name/,
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
