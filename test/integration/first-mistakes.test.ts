import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileJournal } from 'exact-change/journal/file';
import { afterAll, describe, expect, it } from 'vitest';
import { failureOf, payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { expectUnread, nothingSent } from '../helpers/untouched.js';

const sandbox = await useSandbox({ confirmationMs: 20 });
const folder = mkdtempSync(join(tmpdir(), 'exact-change-mistakes-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const usdcApi = `${sandbox.apiUrl}/usdc`;

describe('a journal in a folder that does not exist', () => {
  it('fails the call with the path, the reason and the next step', async () => {
    const path = join(folder, 'data', 'payments.jsonl');
    const payer = await payerOn(sandbox, { USDC: '1' }, { journal: fileJournal(path) });
    const error = await nothingSent(sandbox, payer, () => failureOf(payer.client.fetch(usdcApi)));
    expectUnread(error);
    expect(error.message).toContain(path);
    expect(error.message).toMatch(/ENOENT.* folder must exist.* never pays twice/);
  });
});
