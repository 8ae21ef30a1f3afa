import { readFileSync } from 'node:fs';
import { toJsonSchema, toJsonSchemaDefs, type ConversionConfig } from '@valibot/to-json-schema';
import { tokenBalance } from '../src/wire/balance.js';
import { operations, pages, type Operation, type OperationId } from '../src/wire/operations.js';
import {
  newWebhookEndpoint,
  webhookEndpoint,
  webhookOfId,
  webhookOperations,
  webhookRequest,
} from '../src/wire/webhooks.js';
import type { WebhookOperationId } from '../src/wire/webhooks.js';
import { autoPayRequest, parsedPayment, paymentParts, paymentResult } from '../src/wire/payment.js';
import { problem, PROBLEM_TYPE } from '../src/wire/problem.js';
import { buildOfParameters, buildOfQuote, swapQuote, swapTransaction } from '../src/wire/swap.js';
import { problemCodes } from '../src/wire/problem-codes.js';
import { examples } from './openapi-examples.js';
import { describeWebhooks } from './openapi-webhooks.js';

type Json = Record<string, unknown>;
type Id = OperationId | WebhookOperationId;

const WORDS: { readonly [O in Id]: { readonly summary: string; readonly description: string } } = {
  quote: {
    summary: 'A price for a swap',
    description:
      'Amounts are base units. With ExactOut, `amount` is what arrives, and `maxInAmount` the most that leaves.',
  },
  buildSwap: {
    summary: 'An unsigned transaction for a swap',
    description:
      'For a quote of before, or for the parameters of one, which is then asked for first. Check what you sign.',
  },
  balance: {
    summary: 'What a wallet holds',
    description:
      'One mint gives one balance; none, or several, give a list. Native SOL is asked for as `SOL`.',
  },
  parsePayment: {
    summary: 'The offers of a 402',
    description: 'In the order of the seller, each with why it cannot be paid, where it cannot.',
  },
  autoPay: {
    summary: 'The next step of a payment',
    description:
      'Keyless. Sign what comes back with `swap_required` and send it as `signedSwap`; ask again with the same while it is `swap_submitted`. ' +
      'Sign what comes back with `ready_to_sign` and send it as `signedPayment`. Repeat the paid request with the header that comes with `ready_to_present`. ' +
      'A service with a journal keeps what it is handed on record: send the same `signedPayment` again, or ask under the same `idempotencyKey`, and it says whether the payment is ' +
      '`submitted` (it may still land), `settled` (its own node shows it) or `failed` (it never can).',
  },
  listWebhooks: {
    summary: 'Where events are told',
    description: 'The endpoints that this caller registered, without their secrets.',
  },
  registerWebhook: {
    summary: 'Tell events to an endpoint',
    description:
      'Events are told by POST to an `https:` address, signed as Standard Webhooks have it, at least once each. ' +
      'The `secret` that they are signed with is in this answer and in no other: keep it.',
  },
  removeWebhook: {
    summary: 'Tell an endpoint nothing more',
    description: 'What is being told at this moment may still arrive.',
  },
  rotateWebhook: {
    summary: 'A new secret for an endpoint',
    description:
      'The secret before signs along for a day. An endpoint that was disabled is told again.',
  },
};

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const SCHEMAS = {
  SwapQuote: swapQuote,
  SwapTransaction: swapTransaction,
  BuildOfQuote: buildOfQuote,
  BuildOfParameters: buildOfParameters,
  TokenBalance: tokenBalance,
  PaymentResponseParts: paymentParts,
  ParsedPayment: parsedPayment,
  AutoPayRequest: autoPayRequest,
  PaymentResult: paymentResult,
  WebhookRequest: webhookRequest,
  WebhookEndpoint: webhookEndpoint,
  NewWebhookEndpoint: newWebhookEndpoint,
  WebhookOfId: webhookOfId,
  Problem: problem,
};
const CONFIG: ConversionConfig = {
  target: 'draft-2020-12',
  typeMode: 'input',
  // JSON Schema cannot express these checks; the shapes describe them as far as it can.
  ignoreActions: ['check', 'transform', 'finite'],
  overrideRef: ({ referenceId }) => ref(referenceId).$ref,
};

const BODIES: { readonly [O in Id]?: Json } = {
  buildSwap: { oneOf: [ref('BuildOfQuote'), ref('BuildOfParameters')] },
  parsePayment: ref('PaymentResponseParts'),
  autoPay: ref('AutoPayRequest'),
  registerWebhook: ref('WebhookRequest'),
  rotateWebhook: ref('WebhookOfId'),
};
const ANSWERS: { readonly [O in Id]: Json } = {
  quote: ref('SwapQuote'),
  buildSwap: ref('SwapTransaction'),
  balance: { oneOf: [ref('TokenBalance'), { type: 'array', items: ref('TokenBalance') }] },
  parsePayment: ref('ParsedPayment'),
  autoPay: ref('PaymentResult'),
  listWebhooks: { type: 'array', items: ref('WebhookEndpoint') },
  registerWebhook: ref('NewWebhookEndpoint'),
  removeWebhook: toJson(webhookOperations.removeWebhook.response),
  rotateWebhook: ref('NewWebhookEndpoint'),
};

/** Returns the OpenAPI 3.1 document of the REST interface, made from the wire's definitions. */
export function openapiDocument(): Json {
  const { version, license } = JSON.parse(
    readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
  ) as Record<string, string>;
  const paths: Record<string, Json> = {};
  for (const [id, operation] of Object.entries({ ...operations, ...webhookOperations })) {
    const { path, method } = operation;
    // The cast is safe, because the entries of an object have its keys.
    paths[path] = { ...paths[path], [method.toLowerCase()]: describe(id as Id, operation) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Exact Change',
      version,
      license: { name: license, identifier: license },
      description:
        'Quotes, swaps, balances and x402 payments on Solana, planned by a service that never sees a key: it refuses requests that hold one. ' +
        'Amounts are decimal strings of base units. A body is at most 64 KiB, unless a service takes more: a longer one is refused with 413, however well its fields fit. ' +
        'Errors are problem JSON (RFC 9457); their `code` is one of: ' +
        `${problemCodes.join(', ')}.`,
    },
    servers: [{ url: '/' }],
    security: [{}, { apiKey: [] }, { bearer: [] }],
    paths: {
      ...paths,
      [pages.health.path]: {
        get: page('health', 'Whether the service is there', toJson(pages.health.response)),
      },
      [pages.openapi.path]: { get: page('openapi', 'This document', { type: 'object' }) },
      [pages.metrics.path]: { get: metricsPage() },
    },
    webhooks: describeWebhooks(),
    components: {
      schemas: toJsonSchemaDefs(SCHEMAS, CONFIG),
      responses: {
        Problem: {
          description: 'What went wrong, and what to do.',
          headers: HEADERS,
          content: { [PROBLEM_TYPE]: { schema: ref('Problem') } },
        },
      },
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
        bearer: { type: 'http', scheme: 'bearer' },
      },
    },
  };
}

const HEADERS = {
  'x-request-id': {
    description: 'Of the request, or made for it: for the log of the service.',
    schema: { type: 'string' },
  },
};

function describe(id: Id, operation: Operation): Json {
  const { request, answer, problem: example } = examples[id];
  const body = BODIES[id];
  const input =
    body === undefined
      ? { parameters: parametersOf(operation, request) }
      : {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: body, example: request } },
          },
        };
  const failed = (kind: string) => ({
    description: kind,
    headers: HEADERS,
    content: { [PROBLEM_TYPE]: { schema: ref('Problem'), example } },
  });
  return {
    operationId: id,
    ...WORDS[id],
    ...input,
    responses: {
      200: {
        description: 'Done.',
        headers: HEADERS,
        content: { 'application/json': { schema: ANSWERS[id], example: answer } },
      },
      '4XX': failed('Refused: what to change is in `detail`.'),
      '5XX': { $ref: '#/components/responses/Problem' },
    },
  };
}

/** Describes the metrics page for Prometheus, which needs the operations' authorization. */
function metricsPage(): Json {
  const { security: _, ...rest } = page('metrics', 'What the service did, for Prometheus', {});
  const schema = toJson(pages.metrics.response);
  return {
    ...rest,
    responses: {
      ...rest.responses,
      200: { description: 'Done.', headers: HEADERS, content: { 'text/plain': { schema } } },
    },
  };
}

function page(operationId: string, summary: string, schema: Json) {
  return {
    operationId,
    summary,
    security: [],
    responses: {
      200: { description: 'Done.', headers: HEADERS, content: { 'application/json': { schema } } },
      '4XX': { $ref: '#/components/responses/Problem' },
    },
  };
}

function parametersOf({ request, query }: Operation, example: object): Json[] {
  const { properties = {}, required = [] } = toJsonSchema(request, CONFIG);
  const values = new Map<string, unknown>(Object.entries(example));
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
    ...(values.has(name) ? { example: values.get(name) } : {}),
    ...(query?.lists.includes(name) === true ? { style: 'form', explode: true } : {}),
  }));
}

function toJson(schema: Parameters<typeof toJsonSchema>[0]): Json {
  const { $schema: _, ...rest } = toJsonSchema(schema, CONFIG);
  return rest;
}
