/**
 * Names of the events that a webhook reports once they are in the journal, as the client names
 * them.
 */
export const webhookEvents = [
  'swap.confirmed',
  'swap.failed',
  'payment.settled',
  'payment.failed',
  'payment.uncertain',
] as const;

export type WebhookEventName = (typeof webhookEvents)[number];
