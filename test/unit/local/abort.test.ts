import { local } from 'exact-change';
import { expect, it, onTestFinished } from 'vitest';
import { base64, envelopeV2, KEYS } from '../../fixtures/malformed-402.js';
import { silenceable } from '../../helpers/silent-journal.js';

it('ends a step that is aborted while the journal does not answer', async () => {
  const { journal, silence, speak } = silenceable();
  const controller = new AbortController();
  const reason = new Error('enough');
  silence(
    (step) => step === 'attempts',
    'late',
    () => controller.abort(reason),
  );
  const transport = local({ rpcUrl: 'http://127.0.0.1:9', journal, timeouts: { journal: 60_000 } });
  onTestFinished(async () => {
    speak();
    await transport.close();
  });
  const step = transport.autoPay(
    {
      paymentRequired: {
        url: 'https://api.example.com/premium',
        headers: { 'payment-required': base64(envelopeV2()) },
      },
      wallet: KEYS.payer,
    },
    { signal: controller.signal },
  );
  await expect(step).rejects.toBe(reason);
});
