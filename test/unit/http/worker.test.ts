import { builtinModules } from 'node:module';
import { fileURLToPath } from 'node:url';
import { createContext, runInContext } from 'node:vm';
import { build } from 'esbuild';
import { beforeAll, describe, expect, it } from 'vitest';
import type { createHandler } from 'exact-change/http';
import { fakeTransport } from './fake.js';

const entry = fileURLToPath(new URL('../../../adapters/http/index.ts', import.meta.url));

/** The globals that every worker runtime has; none is from Node. */
const WEB = ['AbortController', 'AbortSignal', 'Headers', 'ReadableStream', 'Request', 'Response', 'TextDecoder', 'TextEncoder', 'URL', 'URLSearchParams', 'clearTimeout', 'crypto', 'setTimeout'] as const; // prettier-ignore

let code: string;
let imports: string[];
beforeAll(async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: [entry],
    ...{
      bundle: true,
      write: false,
      metafile: true,
      format: 'iife',
      globalName: 'http',
      platform: 'browser',
      logLevel: 'silent',
    },
  });
  code = outputFiles[0]!.text;
  imports = Object.values(metafile.inputs).flatMap((input) =>
    input.imports.map(({ path }) => path),
  );
});

describe('the handler in a worker', () => {
  it('bundles without Node modules, frameworks, web3.js or a Jupiter client', () => {
    expect(
      imports.filter((path) => path.startsWith('node:') || builtinModules.includes(path)),
    ).toEqual([]);
    expect(
      imports.filter((path) => /web3\.js|spl-token|@jup-ag|\/ky\/|express|hono/.test(path)),
    ).toEqual([]);
  });

  it('serves with web globals only, and evaluates no text as code', async () => {
    const globals = Object.fromEntries(WEB.map((name) => [name, globalThis[name]]));
    // Workers forbid eval, so this context does too.
    const context = createContext(
      { ...globals, Uint8Array },
      { codeGeneration: { strings: false, wasm: false } },
    );
    runInContext(`${code}; globalThis.http = http;`, context);
    const http = runInContext('http', context) as { createHandler: typeof createHandler };
    const handler = http.createHandler(fakeTransport().transport, {
      cors: ['https://app.example.com'],
    });
    const statusOf = async (path: string, init?: RequestInit) =>
      (await handler(new Request(`https://pay.example.com${path}`, init))).status;
    expect(await statusOf('/api/health')).toBe(200);
    expect(await statusOf('/openapi.json')).toBe(200);
    expect(await statusOf('/api/quote?inputMint=SOL&outputMint=USDC&amount=1')).toBe(200);
    expect(await statusOf('/api/quote?inputMint=SOL')).toBe(400);
    const post = (body: string) => ({
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    expect(await statusOf('/api/x402/parse-payment', post('{"body":{"a":1}}'))).toBe(200);
    expect(await statusOf('/api/x402/parse-payment', post('{"secretKey":1}'))).toBe(400);
  });
});
