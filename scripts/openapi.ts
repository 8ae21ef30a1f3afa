import { writeFile } from 'node:fs/promises';
import { format } from 'prettier';
import { openapiDocument } from './openapi-document.js';

/**
 * Writes the OpenAPI document that the handler serves. A test of the surface finds out where it is
 * not the code's any more.
 */
const path = new URL('../adapters/http/openapi.json', import.meta.url);
await writeFile(
  path,
  await format(JSON.stringify(openapiDocument()), { parser: 'json', printWidth: 140 }),
);
