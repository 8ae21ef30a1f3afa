import { describe, expect, it } from 'vitest';
import { openapiDocument } from '../../scripts/openapi-document.js';
import { eventExamples, examples } from '../../scripts/openapi-examples.js';
import { eventsOf } from '../../src/outbox/notices.js';
import { webhookEvents, type WebhookEvent } from '../../src/outbox/outbox.js';
import { operations, pages } from '../../src/wire/operations.js';
import { problem } from '../../src/wire/problem.js';
import { readQuery, writeQuery } from '../../src/wire/query.js';
import { readAs } from '../../src/wire/read.js';
import { webhookOperations } from '../../src/wire/webhooks.js';
import { verifyWebhook } from 'exact-change/webhooks/verify';
import { Webhook } from 'standardwebhooks';
import { messageOf } from '../../adapters/webhooks/message.js';
import { attemptOf, fullAttemptOf } from '../helpers/attempts.js';
import { readText } from './modules.js';

const document = openapiDocument();
const all = { ...operations, ...webhookOperations };

/** Returns every `$ref` in a value. */
function refsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, field]) =>
    key === '$ref' ? [String(field)] : refsIn(field),
  );
}

describe('the OpenAPI document', () => {
  // If this fails and the change is intended, run `npm run openapi`.
  it('equals the document of the wire in the repository', () => {
    expect(JSON.parse(readText('adapters/http/openapi.json'))).toEqual(
      JSON.parse(JSON.stringify(document)),
    );
  });

  it('has every operation and page with its path, method and id', () => {
    const expected = [
      ...Object.entries(all).map(([id, { method, path }]) => [path, method.toLowerCase(), id]),
      ...Object.entries(pages).map(([id, { method, path }]) => [path, method.toLowerCase(), id]),
    ];
    const paths = Object.entries(
      document['paths'] as Record<string, Record<string, { operationId: string }>>,
    );
    const found = paths.flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => [path, method, operationId]),
    );
    expect(found).toEqual(expected);
  });

  it('refers only to parts of itself', () => {
    const refs = [...new Set(refsIn(document))];
    expect(refs.length).toBeGreaterThan(5);
    for (const ref of refs) {
      const target = ref
        .slice(2)
        .split('/')
        .reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], document);
      expect(target, ref).toBeTypeOf('object');
    }
  });

  it.each(Object.entries(examples))(
    'has a valid request, answer and problem as the example of %s',
    (id, example) => {
      const operation = all[id as keyof typeof all];
      const request =
        operation.query !== undefined
          ? readQuery(operation, writeQuery(example.request))
          : example.request;
      expect(readAs<unknown>(operation.request, request)).toEqual({
        ok: true,
        value: example.request,
      });
      expect(readAs<unknown>(operation.response, example.answer)).toEqual({
        ok: true,
        value: example.answer,
      });
      expect(readAs(problem, example.problem)).toEqual({ ok: true, value: example.problem });
    },
  );
});

interface Described {
  readonly const?: string;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly properties?: Readonly<Record<string, Described>>;
  readonly required?: readonly string[];
}
interface Told {
  readonly operationId: string;
  readonly parameters: readonly {
    readonly name: string;
    readonly required: boolean;
    readonly schema: Described;
  }[];
  readonly requestBody: {
    readonly content: {
      readonly 'application/json': { readonly schema: Described; readonly example: unknown };
    };
  };
}

/** Returns the differences between a value and its schema; the schema must cover each field. */
function faults(value: unknown, schema: Described | undefined, at = ''): string[] {
  if (schema === undefined) return [`${at} is not described`];
  const { properties, required = [], maxLength = 0, pattern = '' } = schema;
  if (properties === undefined) {
    if (schema.const !== undefined) return value === schema.const ? [] : [`${at} is another`];
    return typeof value === 'string' &&
      value.length <= maxLength &&
      new RegExp(pattern, 'u').test(value)
      ? []
      : [`${at} has another form`];
  }
  if (typeof value !== 'object' || value === null) return [`${at} is no object`];
  const fields = Object.entries(value).flatMap(([name, field]) =>
    faults(field, properties[name], `${at}.${name}`),
  );
  return [
    ...fields,
    ...required.filter((name) => !(name in value)).map((name) => `${at}.${name} is missing`),
  ];
}

describe('the webhooks of the OpenAPI document', () => {
  const told = document['webhooks'] as Record<string, { readonly post: Told }>;
  const schemaOf = (type: string) =>
    told[type]?.post.requestBody.content['application/json'].schema;
  const SECRET = `whsec_${'A'.repeat(32)}`;
  const NOW = 1_767_225_600_000;
  const endpoint = {
    id: 'e',
    url: 'https://a.test/',
    events: [],
    caller: '',
    secrets: [{ secret: SECRET }],
    createdAt: 0,
  };

  const { payment, receipt } = fullAttemptOf();
  const attempt = attemptOf();
  const signed = {
    ...attempt,
    state: 'signed',
    ...(payment && { payment }),
    ...(receipt && { receipt }),
  } as const;
  const swap = {
    signature: 's',
    transaction: 'AAEC',
    blockhash: 'h',
    blockhashSlot: 1,
    lastValidBlockHeight: '9',
    provider: 'jupiter-v1',
    inputMint: 'i',
    outputMint: 'o',
    source: 'a',
    output: 'b',
    quoted: { inAmount: '3', outAmount: '4', feeLamports: '5' },
  };
  /** Events of each type, in every form that the journal writes. */
  const events: readonly WebhookEvent[] = [
    ...eventsOf(
      attempt,
      {
        ...attempt,
        swap: {
          ...swap,
          outcome: { state: 'confirmed', inAmount: '3', outAmount: '4', feeLamports: '5' },
        },
      },
      NOW,
    ),
    ...eventsOf(
      attempt,
      { ...attempt, swap: { ...swap, outcome: { state: 'failed', code: 'swap_expired' } } },
      NOW,
    ),
    ...eventsOf(signed, { ...signed, state: 'settled' }, NOW),
    ...eventsOf(signed, { ...signed, state: 'unsettled' }, NOW),
    ...eventsOf(attempt, undefined, NOW),
    ...eventsOf(signed, { ...signed, doubt: 'payment_uncertain' }, NOW),
  ];

  it('are all webhook events, by name', () => {
    expect(Object.keys(told).sort()).toEqual([...webhookEvents].sort());
    expect(Object.entries(told).map(([name, { post }]) => [name, post.operationId])).toEqual(
      webhookEvents.map((name) => [name, name]),
    );
    expect(new Set(events.map(({ type }) => type))).toEqual(new Set(webhookEvents));
  });

  it('describe each sent event of the journal, field by field', () => {
    for (const event of events) {
      const { headers, body } = messageOf(endpoint, event, NOW);
      expect(faults(JSON.parse(body), schemaOf(event.type)), event.type).toEqual([]);
      for (const { name, required, schema } of told[event.type]?.post.parameters ?? []) {
        expect([required, faults(headers[name], schema, name)]).toEqual([true, []]);
      }
      expect(verifyWebhook({ secret: SECRET, headers, body, now: NOW })).toEqual(event);
    }
  });

  it('require exactly the fields that verifyWebhook requires', () => {
    for (const type of webhookEvents) {
      const { data, ...rest } = eventExamples[type] as { data: Record<string, unknown> };
      const verify = (said: object) => {
        const [body, at] = [JSON.stringify(said), new Date(NOW)];
        const headers = {
          'webhook-id': 'a',
          'webhook-timestamp': String(NOW / 1000),
          'webhook-signature': new Webhook(SECRET).sign('a', at, body),
        };
        return verifyWebhook({ secret: SECRET, headers, body, now: NOW });
      };
      expect(faults({ ...rest, data }, schemaOf(type))).toEqual([]);
      expect(verify({ ...rest, data })).toMatchObject({ id: 'a', type, data });
      const { properties = {}, required = [] } = schemaOf(type)?.properties?.['data'] ?? {};
      for (const name of Object.keys(properties)) {
        const { [name]: _, ...less } = data;
        if (required.includes(name))
          expect(() => verify({ ...rest, data: less }), name).toThrow(/lacks/);
        else expect(verify({ ...rest, data: less })).toMatchObject({ type });
        expect(
          () => verify({ ...rest, data: { ...data, [name]: 'x'.repeat(8_193) } }),
          name,
        ).toThrow(/lacks/);
      }
    }
  });
});
