import { describe, expect, it } from 'vitest';
import { openapiDocument } from '../../scripts/openapi-document.js';
import { examples } from '../../scripts/openapi-examples.js';
import { operations, pages } from '../../src/wire/operations.js';
import { problem } from '../../src/wire/problem.js';
import { readQuery, writeQuery } from '../../src/wire/query.js';
import { readAs } from '../../src/wire/read.js';
import { webhookOperations } from '../../src/wire/webhooks.js';
import { readText } from './modules.js';

const document = openapiDocument();
const all = { ...operations, ...webhookOperations };

/** Every `$ref` in a value. */
function refsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) => (key === '$ref' ? [String(one)] : refsIn(one)));
}

describe('the OpenAPI document', () => {
  // Where this fails and the change is meant: `npm run openapi`.
  it('in the repository is what the wire gives', () => {
    expect(JSON.parse(readText('adapters/http/openapi.json'))).toEqual(JSON.parse(JSON.stringify(document)));
  });

  it('has every operation and page by its path, method and id', () => {
    const expected = [
      ...Object.entries(all).map(([id, { method, path }]) => [path, method.toLowerCase(), id]),
      ...Object.entries(pages).map(([id, { method, path }]) => [path, method.toLowerCase(), id]),
    ];
    const paths = Object.entries(document['paths'] as Record<string, Record<string, { operationId: string }>>);
    const found = paths.flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => [path, method, operationId]),
    );
    expect(found).toEqual(expected);
  });

  it('refers to nothing that is not in it', () => {
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

  it.each(Object.entries(examples))('shows of %s a call, an answer and a problem that are what they should be', (id, example) => {
    const operation = all[id as keyof typeof all];
    const request = operation.query !== undefined ? readQuery(operation, writeQuery(example.request)) : example.request;
    expect(readAs<unknown>(operation.request, request)).toEqual({ ok: true, value: example.request });
    expect(readAs<unknown>(operation.response, example.answer)).toEqual({ ok: true, value: example.answer });
    expect(readAs(problem, example.problem)).toEqual({ ok: true, value: example.problem });
  });
});
