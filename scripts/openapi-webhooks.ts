import {
  allowedShapes,
  headerShapes,
  neededShapes,
  timestampShape,
  type Fields,
  type Shape,
} from '../adapters/webhooks/shapes.js';
import type { WebhookEventName } from '../src/outbox/outbox.js';
import { eventExamples } from './openapi-examples.js';

type Json = Record<string, unknown>;

const WORDS: {
  readonly [N in WebhookEventName]: { readonly summary: string; readonly description: string };
} = {
  'swap.confirmed': {
    summary: 'A swap landed',
    description: 'With the amounts that it really had, in base units.',
  },
  'swap.failed': {
    summary: 'A swap came to nothing',
    description: 'It landed and failed, or never can land.',
  },
  'payment.settled': {
    summary: 'A payment is on chain',
    description: 'The node of the payer shows it.',
  },
  'payment.failed': {
    summary: 'Nothing was paid',
    description:
      'And nothing can be any more: no payment was signed, or the one that was can never land.',
  },
  'payment.uncertain': {
    summary: 'A payment may have been made',
    description: '`payment.settled` or `payment.failed` follows when the chain has decided.',
  },
};

const HEADERS: { readonly [H in keyof typeof headerShapes]: string } = {
  'webhook-id': 'Of the event: the same each time that it is told.',
  'webhook-timestamp': 'When it was signed, in seconds since the epoch.',
  'webhook-signature':
    'One for each secret in use: `v1,` and the base64 of the HMAC-SHA256 of id, timestamp and body, with dots between, as Standard Webhooks have it.',
};

/** Describes the messages to registered endpoints by event name: OpenAPI 3.1 `webhooks`. */
export function describeWebhooks(): Json {
  return Object.fromEntries(
    Object.entries(WORDS).map(([name, words]) => [
      name,
      { post: messageOf(name as WebhookEventName, words) },
    ]),
  ); // The cast is safe, because the entries of an object have its keys.
}

function messageOf(name: WebhookEventName, words: object): Json {
  const fields = { ...neededShapes[name], ...allowedShapes[name] };
  const parameters = Object.entries(headerShapes).map(([header, shape]) => ({
    name: header,
    in: 'header',
    required: true,
    description: HEADERS[header as keyof typeof headerShapes], // The cast is safe as above.
    schema: schemaOf(shape),
  }));
  const schema = {
    type: 'object',
    properties: {
      type: { const: name },
      timestamp: schemaOf(timestampShape),
      data: {
        type: 'object',
        properties: propertiesOf(fields),
        required: Object.keys(neededShapes[name]),
      },
    },
    required: ['type', 'timestamp', 'data'],
  };
  return {
    operationId: name,
    ...words,
    security: [],
    parameters,
    requestBody: {
      required: true,
      content: { 'application/json': { schema, example: eventExamples[name] } },
    },
    responses: {
      '2XX': { description: 'It is on record here. Anything else, and it is told again.' },
      410: { description: 'This endpoint is gone: it is told nothing more.' },
    },
  };
}

function propertiesOf(fields: Fields): Json {
  return Object.fromEntries(Object.entries(fields).map(([name, shape]) => [name, schemaOf(shape)]));
}

function schemaOf({ maxLength, pattern }: Shape): Json {
  return {
    type: 'string',
    maxLength,
    ...(pattern === undefined ? {} : { pattern: pattern.source }),
  };
}
