import { writeFile } from 'node:fs/promises';
import { format } from 'prettier';
import { openapiDocument } from './openapi-document.js';

// Writes the OpenAPI document that the handler serves. A test in test/surface fails if the file
// differs from the code.
const path = new URL('../adapters/http/openapi.json', import.meta.url);
await writeFile(
  path,
  await format(JSON.stringify(openapiDocument()), { parser: 'json', printWidth: 140 }),
);
