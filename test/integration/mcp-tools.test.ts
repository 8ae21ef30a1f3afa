import { Client as NewClient } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport as OldTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer as OldServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import {
  CallToolRequestSchema,
  ListToolsRequestSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js';
import { InMemoryTransport, McpServer, ProtocolError } from '@modelcontextprotocol/server';
import { receiptOf } from 'exact-change';
import { wrapMcp, type WrapMcpOptions } from 'exact-change/mcp';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { failureOf, recordingSigner } from '../helpers/payer.js';
import { loadPayingAhead } from '../helpers/paying-ahead.js';
import { useSandbox } from '../helpers/sandbox.js';
import { sellerOfTest } from '../helpers/seller.js';
import { offerOf, settle } from '../helpers/settling.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

beforeAll(() => loadPayingAhead(sandbox));

type Json = Record<string, unknown>;
type Handler = (params: {
  readonly _meta?: Json | undefined;
  readonly name: string;
  readonly arguments?: unknown;
}) => Promise<Json>;

const TOOL = {
  name: 'search',
  inputSchema: { type: 'object' as const },
  outputSchema: {
    type: 'object' as const,
    properties: { found: { type: 'number' } },
    required: ['found'],
    additionalProperties: false,
  },
};

/** Connects a client of each SDK to a server of the same SDK that has the tool. */
const CONNECT = {
  'SDK v2': async (handler: Handler) => {
    const server = new McpServer({ name: 'seller', version: '1' }, { capabilities: { tools: {} } });
    server.server.setRequestHandler('tools/list', () => ({ tools: [TOOL] }));
    server.server.setRequestHandler('tools/call', async ({ params }) => ({
      content: [],
      ...(await handler(params)),
    }));
    const client = new NewClient({ name: 'buyer', version: '1' });
    const [a, b] = InMemoryTransport.createLinkedPair();
    await Promise.all([server.connect(a), client.connect(b)]);
    onTestFinished(() => client.close());
    await client.listTools();
    return client;
  },
  'SDK v1': async (handler: Handler) => {
    const server = new OldServer({ name: 'seller', version: '1' }, { capabilities: { tools: {} } });
    server.server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [TOOL] }));
    server.server.setRequestHandler(CallToolRequestSchema, async ({ params }) => ({
      content: [],
      ...(await handler(params)),
    }));
    const client = new OldClient({ name: 'buyer', version: '1' });
    const [a, b] = OldTransport.createLinkedPair();
    await Promise.all([server.connect(a), client.connect(b)]);
    onTestFinished(() => client.close());
    // After this call the client checks results against the output schema.
    await client.listTools();
    return client;
  },
};

type Sdk = keyof typeof CONNECT;

const text = (value: unknown) => [{ type: 'text', text: JSON.stringify(value) }];

function terms(): Json {
  const { resource: _http, ...rest } = envelopeV2([offerOf(sandbox)]);
  return { ...rest, resource: { url: 'mcp://tool/search' } };
}

/** Ways in which a server asks for payment: each makes an answer of the terms. */
const FORMS: Readonly<Record<string, (asked: Json, sdk: Sdk) => Json>> = {
  'of the specification': (asked) => ({
    isError: true,
    structuredContent: asked,
    content: text(asked),
  }),
  'of the extension': (asked) => ({
    resultType: 'payment_required',
    paymentRequired: asked,
  }),
  'of text alone': (asked) => ({ isError: true, content: text(asked) }),
  'of Cloudflare': (asked) => ({
    isError: true,
    _meta: { 'x402/error': asked },
    content: text(asked),
  }),
  'of the first releases': (asked) => ({
    isError: true,
    content: text({ 'x402/error': { code: 402, data: asked } }),
  }),
  'of an error': (asked, sdk) => {
    throw sdk === 'SDK v1'
      ? new McpError(402, 'Payment required', asked)
      : new ProtocolError(402, 'Payment required', asked);
  },
};

const RESULT = { structuredContent: { found: 3 }, content: text({ found: 3 }) };

/** Connects a tool that asks for payment in one form with a client that pays. */
async function market(
  sdk: Sdk,
  form: string,
  more: { readonly afterwards?: () => Json; readonly options?: WrapMcpOptions } = {},
) {
  const payments: unknown[] = [];
  const asked: unknown[] = [];
  const ask = () => FORMS[form]?.(terms(), sdk) ?? {};
  const mcp = await CONNECT[sdk](async ({ _meta: meta, arguments: given }) => {
    asked.push(given);
    const payment = meta?.['x402/payment'];
    if (payment === undefined) return ask();
    payments.push(payment);
    if (more.afterwards !== undefined) return more.afterwards();
    const header =
      typeof payment === 'string'
        ? payment
        : Buffer.from(JSON.stringify(payment)).toString('base64');
    const settlement = await settle(sandbox, {
      ...{ method: 'POST', url: '/', headers: { 'payment-signature': header } },
    });
    return {
      ...RESULT,
      _meta: { own: 1, 'x402/payment-response': { network: 'solana', ...settlement } },
    };
  });
  const { address, secretKey } = await sandbox.createWallet({ USDC: '1' });
  const { signer, signed } = recordingSigner(address, secretKey);
  const { rpcUrl, wsUrl, jupiterUrl } = sandbox;
  const client = wrapMcp(mcp, {
    ...{ rpcUrl, wsUrl, jupiterUrl, signer },
    url: 'https://mcp.example.com/mcp',
    policy: { maxPerHost: { 'mcp.example.com': '0.015' } },
    ...more.options,
  });
  onTestFinished(() => client.close());
  const call = (query: string, _meta?: Json) =>
    mcp.callTool({
      name: 'search',
      arguments: { query },
      ...(_meta && { _meta }),
    }) as Promise<Json>;
  return { mcp, call, payments, asked, signed, client, address };
}

describe.each(Object.keys(CONNECT) as Sdk[])(
  'tools that ask for payment, called by a client of %s',
  (sdk) => {
    it.each(Object.keys(FORMS))('are paid in the payment form %s', async (form) => {
      const { call, payments, signed, address, client } = await market(sdk, form);
      const result = await call('x402');
      expect(result).toMatchObject({ ...RESULT, _meta: { own: 1 } });
      expect(typeof payments[0]).toBe(form === 'of Cloudflare' ? 'string' : 'object');
      const receipt = receiptOf(result);
      expect(receipt).toMatchObject({
        url: 'https://mcp.example.com/mcp/search',
        payment: { uiAmount: '0.01' },
        settlement: { success: true },
      });
      // The caps hold, and count for the host that the caller gave.
      await failureOf(call('again'), 'budget_exhausted');
      expect([payments.length, signed.length]).toEqual([1, 1]);
      expect(await sandbox.balance(address, 'USDC')).toBe(990_000n);
      expect(await client.spent()).toContainEqual(
        expect.objectContaining({ host: 'mcp.example.com', used: '0.01' }),
      );
    });

    it.each(Object.keys(FORMS))('are paid ahead in the payment form %s', async (form) => {
      const { call, payments, asked } = await market(sdk, form, {
        options: { policy: {}, presign: ['https://mcp.example.com/mcp'] },
      });
      await call('x402');
      await call('again');
      const kind = form === 'of Cloudflare' ? 'string' : 'object';
      expect(payments.map((payment) => typeof payment)).toEqual([kind, kind]);
      expect(asked).toHaveLength(3);
    });

    it('are paid for the arguments that the call had, even if the caller changes them', async () => {
      const { mcp, payments, asked } = await market(sdk, 'of the specification');
      const given = { query: { topic: 'x402' } };
      const calling = mcp.callTool({ name: 'search', arguments: given });
      given.query.topic = 'changed';
      await calling;
      expect(payments).toHaveLength(1);
      expect(asked).toEqual([{ query: { topic: 'x402' } }, { query: { topic: 'x402' } }]);
    });

    it('are not paid twice if they ask for payment again after they were paid', async () => {
      const form = 'of the specification';
      const asksAgain = () => FORMS[form]?.(terms(), sdk) ?? {};
      const { call, payments, signed } = await market(sdk, form, { afterwards: asksAgain });
      const { funds } = await failureOf(call('x402'), 'payment_rejected');
      expect([funds, payments.length, signed.length]).toEqual(['uncertain', 1, 1]);
    });

    it('are not paid beside a payment that the caller presents itself', async () => {
      const form = 'of the specification';
      const asksAgain = () => FORMS[form]?.(terms(), sdk) ?? {};
      const { call, payments, signed } = await market(sdk, form, { afterwards: asksAgain });
      const payment = { x402Version: 2, payload: { transaction: 'own' } };
      const result = await call('x402', { 'x402/payment': payment });
      expect(result).toMatchObject({ isError: true, structuredContent: terms() });
      expect([payments, signed.length]).toEqual([[payment], 0]);
    });
  },
);

it('keeps a fetch of the client apart from a tool call that is under way', async () => {
  const seller = await sellerOfTest((_, response) => response.end('free'));
  const answers: string[] = [];
  const mcp = await CONNECT['SDK v1'](async () => {
    // A model chooses the headers of its calls, and numbers can be guessed.
    const headers = { 'x-exact-change-call': '1' };
    if (answers.length === 0) {
      answers.push('asked');
      answers.push(await (await client.fetch(seller.url, { headers })).text());
    }
    return RESULT;
  });
  const { secretKey } = await sandbox.createWallet({});
  const client = wrapMcp(mcp, { walletSecretKey: secretKey, rpcUrl: sandbox.rpcUrl });
  onTestFinished(() => client.close());
  await mcp.callTool({ name: 'search' });
  expect(answers).toEqual(['asked', 'free']);
});

it.each(['nonsense', 'stdio://server', 'https://user:word@mcp.example.com/mcp', ''])(
  'refuses the address %j at once, and leaves the client of the SDK as it was',
  async (url) => {
    const mcp = await CONNECT['SDK v1'](async () => RESULT);
    const { callTool } = mcp;
    const { secretKey } = await sandbox.createWallet({});
    const wrap = () => wrapMcp(mcp, { url, walletSecretKey: secretKey, rpcUrl: sandbox.rpcUrl });
    expect(wrap).toThrow(
      expect.objectContaining({ code: 'invalid_option', details: { option: 'url' } }),
    );
    expect(mcp.callTool).toBe(callTool);
  },
);

it('leaves results and failures of tools that ask for no payment unchanged', async () => {
  const failed = { isError: true, content: text('no such page') };
  const mcp = await CONNECT['SDK v2'](async () => failed);
  const { secretKey } = await sandbox.createWallet({});
  const client = wrapMcp(mcp, { walletSecretKey: secretKey, rpcUrl: sandbox.rpcUrl });
  onTestFinished(() => client.close());
  const result = await mcp.callTool({ name: 'search' });
  expect(result).toMatchObject(failed);
  expect(receiptOf(result)).toBeUndefined();
});
