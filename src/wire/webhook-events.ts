/**
 * What a journal tells the outside of, once it is on record. Names are those of the client's own
 * events.
 */
export const webhookEvents = [
  'swap.confirmed',
  'swap.failed',
  'payment.settled',
  'payment.failed',
  'payment.uncertain',
] as const;

export type WebhookEventName = (typeof webhookEvents)[number];
