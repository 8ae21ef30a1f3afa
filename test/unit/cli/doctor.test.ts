import { SOLANA_MAINNET } from 'exact-change';
import { expect, it, onTestFinished } from 'vitest';
import { checkAccounts } from '../../../adapters/cli/doctor/accounts.js';
import { checkNode } from '../../../adapters/cli/doctor/node.js';
import { served } from '../../helpers/served.js';

const nested = `${'['.repeat(10_000)}${']'.repeat(10_000)}`;

it.each([
  ['an object', '{"error":{"message":{"toString":1,"valueOf":1}}}', 'it says no reason'],
  ['a nested list', `{"error":{"message":${nested}}}`, 'it says no reason'],
  ['text', '{"error":{"message":"gone"}}', 'it says: gone'],
])('names a node with %s as the message of its error', async (_, body, reason) => {
  const { url, close } = await served(() => Promise.resolve(new Response(body)));
  onTestFinished(close);
  expect(await checkNode(url, SOLANA_MAINNET, 'wallet')).toMatchObject([
    { says: `cannot be used: ${reason}` },
  ]);
});

it.each(['{"toString":1,"valueOf":1}', nested])(
  'names a node with no text as its genesis hash as one of another network',
  async (result) => {
    const answer = `{"result":${result}}`;
    const { url, close } = await served(() => Promise.resolve(new Response(answer)));
    onTestFinished(close);
    expect(await checkNode(url, SOLANA_MAINNET, 'wallet')).toMatchObject([
      { says: 'serves another network' },
    ]);
  },
);

it('shows text of a node without characters that control a terminal', async () => {
  const evil = '\u001b[2Jevil';
  const accountWith = (info: object) => ({
    pubkey: evil,
    account: { data: { parsed: { info } } },
  });
  const value = [accountWith({ delegate: evil }), accountWith({ closeAuthority: evil })];
  const { url, close } = await served(() =>
    Promise.resolve(new Response(JSON.stringify({ result: { value } }))),
  );
  onTestFinished(close);
  const findings = await checkAccounts(url, 'wallet');
  expect(findings).toHaveLength(4);
  for (const { check, says } of findings)
    expect(`${check} ${says}`).toMatch(/^account \ufffd\[2Jevil may be .+ \ufffd\[2Jevil$/);
});
