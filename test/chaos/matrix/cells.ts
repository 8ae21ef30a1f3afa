/** The faults that can meet a step. */
export type Fault =
  | 'kill -9'
  | 'timeout'
  | '429'
  | '5xx'
  | 'malformed'
  | 'lost response'
  | 'expired'
  | 'duplicate'
  | 'concurrent';

/** The outcome that must hold when the fault meets the step; `-` if it cannot meet it. */
type Cells = { readonly [F in Fault]: string };

interface Row {
  readonly step: string;
  readonly cells: Cells;
}

/**
 * The fault matrix: each step of a payment against each fault. `expired` is a blockhash past its
 * last block, a quote or a balance that is no longer true, or a dropped block. After each cell, a
 * purchase has at most one settled payment, and the sums of chain, journal and merchant agree.
 */
export const MATRIX = {
  '1': {
    step: 'the first, unpaid request',
    cells: {
      'kill -9': 'leaves no debt and no attempt on record',
      timeout: 'rejects with the reason of the caller’s signal, as fetch does',
      '429': 'returns the answer unchanged',
      '5xx': 'returns the answer unchanged',
      malformed: 'returns a 402 without terms unchanged, and rejects broken HTTP as fetch does',
      'lost response': 'rejects as fetch does',
      expired: '-',
      duplicate: '-',
      concurrent: 'does not affect parallel calls when a call fails',
    },
  },
  '2': {
    step: 'reading the 402',
    cells: {
      'kill -9': 'leaves no debt and no attempt on record',
      timeout: 'rejects an endless body with a typed error in time, before any signature',
      '429': '-',
      '5xx': '-',
      malformed: 'rejects unreadable terms with a typed error',
      'lost response': 'rejects cut-off terms with a typed error',
      expired: '-',
      duplicate: 'gives the same 402 the same verdict',
      concurrent: 'keeps verdicts of parallel calls apart',
    },
  },
  '3': {
    step: 'policy and reservation',
    cells: {
      'kill -9': 'frees the reservation of the dead process',
      timeout: 'ends the call in time when the journal hangs, before any signature',
      '429': '-',
      '5xx': '-',
      malformed: 'refuses a payment outside the policy, and names the rule',
      'lost response': '-',
      expired: '-',
      duplicate: 'buys once per key, and refuses the key for another request',
      concurrent: 'never lets the sum pass the cap',
    },
  },
  '4': {
    step: 'reading the balance',
    cells: {
      'kill -9': 'leaves no debt, and the next process buys',
      timeout: 'reads from the next node; without another node it rejects in time',
      '429': 'reads again; if the limit persists it rejects with a typed error',
      '5xx': 'reads from another node',
      malformed: 'reads from another node; without another node it rejects with a typed error',
      'lost response': 'reads again',
      expired: 'reads a vanished balance again, at commitment confirmed',
      duplicate: 'signs one payment for several reads',
      concurrent: 'never promises the same tokens to two payments',
    },
  },
  '5': {
    step: 'the quote',
    cells: {
      'kill -9': 'leaves no debt, and the next process buys',
      timeout: 'rejects in time with a typed error and no signature',
      '429': 'requests the quote again',
      '5xx': 'requests the quote again; if the error persists it rejects with a typed error',
      malformed: 'rejects a broken or mismatched quote with a typed error',
      'lost response': 'requests the quote again',
      expired: 'replaces a quote that the market has left',
      duplicate: 'swaps once when an old quote comes again',
      concurrent: 'shares a swap between payments that lack funds together',
    },
  },
  '6': {
    step: 'building the swap',
    cells: {
      'kill -9': 'leaves no debt, and the next process buys',
      timeout: 'rejects in time with a typed error and no signature',
      '429': 'requests the build again',
      '5xx': 'requests the build again; if the error persists it rejects with a typed error',
      malformed: 'rejects a foreign or broken swap with a typed error',
      'lost response': 'requests the build again, because an unsigned build is harmless',
      expired: 'builds again on a new blockhash',
      duplicate: 'signs only one of several builds',
      concurrent: 'builds and swaps once for parallel calls',
    },
  },
  '7': {
    step: 'firewall and simulation',
    cells: {
      'kill -9': 'leaves no debt, and the next process buys',
      timeout: 'rejects in time with a typed error; it never skips the simulation',
      '429': 'simulates again, and never skips the simulation',
      '5xx': 'simulates again, and never skips the simulation',
      malformed: 'refuses a swap that the firewall does not understand, and a broken simulation',
      'lost response': 'simulates again',
      expired: 'simulates again when the node lags behind',
      duplicate: 'gives the same swap the same verdict',
      concurrent: 'keeps verdicts of parallel swaps apart',
    },
  },
  '8': {
    step: 'signing the swap',
    cells: {
      'kill -9': 'makes an unsigned swap again; a signed swap on record lands at most once',
      timeout: '-',
      '429': '-',
      '5xx': 'sends no swap that the journal cannot record',
      malformed: 'refuses a wrong signature, and sends nothing',
      'lost response': '-',
      expired: '-',
      duplicate: 'records the bytes that it signs, sends and lands',
      concurrent: 'signs one swap for all waiting calls',
    },
  },
  '9': {
    step: 'sending the swap',
    cells: {
      'kill -9': 'lands the swap at most once, and the next process buys',
      timeout: 'sends the same bytes again',
      '429': 'sends the same bytes again',
      '5xx': 'sends the same bytes again, to another node too',
      malformed: 'lets the chain decide after a meaningless answer',
      'lost response': 'lets the chain decide after a lost answer',
      expired: 'makes an expired swap again once; then it rejects, and nothing has moved',
      duplicate: 'accepts that the node already has the swap',
      concurrent: 'lands the same bytes once when two senders send them',
    },
  },
  '10': {
    step: 'confirming the swap',
    cells: {
      'kill -9': 'lands the swap at most once, and the next process buys',
      timeout: 'holds the swap until the chain has decided',
      '429': 'reads the status again',
      '5xx': 'reads the status from another node',
      malformed: 'reads the status again',
      'lost response': 'reads the status again',
      expired: 'sends a swap again when its block was dropped',
      duplicate: '-',
      concurrent: 'lets waiting calls use the output of the swap',
    },
  },
  '10b': {
    step: 'a swap that landed and failed',
    cells: {
      'kill -9': 'costs only its fee, and the next process buys',
      timeout: 'costs only its fee, and is made again once when the price has moved',
      '429': 'costs only its fee, and is made again once when the price has moved',
      '5xx': 'costs only its fee, and is made again once when the price has moved',
      malformed: 'costs only its fee, and is made again once when the price has moved',
      'lost response': 'costs only its fee, and is made again once when the price has moved',
      expired: 'costs only its fee, and is made again once when the price has moved',
      duplicate: '-',
      concurrent: 'gives waiting calls the next swap or the reason',
    },
  },
  '11': {
    step: 'reading the balance after the swap',
    cells: {
      'kill -9': 'lets the next process pay with the swapped tokens',
      timeout: 'reads again',
      '429': 'reads again',
      '5xx': 'reads again',
      malformed: 'reads again',
      'lost response': 'reads again',
      expired: 'reads at commitment confirmed',
      duplicate: '-',
      concurrent: 'never promises the same tokens to two payments',
    },
  },
  '12': {
    step: 'building and signing the payment',
    cells: {
      'kill -9': 'presents recorded bytes again until they expire; unrecorded bytes never left',
      timeout: 'requests the blockhash again',
      '429': 'requests the blockhash again',
      '5xx': 'requests the blockhash again',
      malformed: 'refuses a broken blockhash or signature, and sends nothing',
      'lost response': '-',
      expired: 'signs on a fresh blockhash',
      duplicate: 'keeps one live authorization per purchase',
      concurrent: 'tells a second call with the same key to wait',
    },
  },
  '13': {
    step: 'sending the paid request',
    cells: {
      'kill -9': 'reads the chain before any new signature, because the payment may be taken',
      timeout: 'holds the payment as uncertain, and presents only the same bytes',
      '429': 'holds the payment as possibly taken, and presents only the same bytes',
      '5xx': 'holds the payment as possibly taken, and presents only the same bytes',
      malformed: 'holds the payment as uncertain, and presents only the same bytes',
      'lost response': 'holds the payment as uncertain, and presents only the same bytes',
      expired: 'signs a new payment only after the old payment is proved expired',
      duplicate: 'looks up an earlier settlement, and reports success',
      concurrent: 'tells a second call with the same key to wait',
    },
  },
  '14': {
    step: 'reading the paid answer',
    cells: {
      'kill -9': 'reads the chain, and keeps the receipt',
      timeout: 'keeps the receipt in the headers',
      '429': 'returns a paid failure with its receipt',
      '5xx': 'returns a paid failure with its receipt',
      malformed: 'replaces an unreadable settlement by the chain’s',
      'lost response': 'reads the chain, and keeps the receipt',
      expired: 'watches a payment from a dropped block until it is decided',
      duplicate: 'keeps the first answer',
      concurrent: '-',
    },
  },
  '15': {
    step: 'another 402 after paying',
    cells: {
      'kill -9': 'signs no second payment until the first is decided',
      timeout: 'signs no second payment until the first is decided',
      '429': 'signs no second payment until the first is decided',
      '5xx': 'signs no second payment until the first is decided',
      malformed: 'signs no second payment until the first is decided, unless the policy allows it',
      'lost response': 'signs no second payment until the first is decided',
      expired: 'signs a second payment only after the first is proved expired',
      duplicate: 'presents the same bytes or none',
      concurrent: 'tells the second call to wait',
    },
  },
  '16': {
    step: 'writing the receipt',
    cells: {
      'kill -9': 'lets the next process write the receipt',
      timeout: 'delivers the answer, and writes the record later',
      '429': '-',
      '5xx': '-',
      malformed: 'stops spending when the journal is damaged',
      'lost response': '-',
      expired: 'upgrades the state later by the chain',
      duplicate: 'keeps one record of a receipt that is written twice',
      concurrent: 'keeps parallel writers from undoing each other',
    },
  },
  '17': {
    step: 'webhooks',
    cells: {
      'kill -9': 'lets the next process deliver the remaining events',
      timeout: 'delivers the event again later',
      '429': 'delivers the event again after Retry-After',
      '5xx': 'delivers the event again later',
      malformed: 'delivers the event again later; a 410 disables the endpoint',
      'lost response': 'delivers the event again with the same id',
      expired: 'delivers a correction',
      duplicate: 'delivers duplicates with the same id',
      concurrent: 'delivers each event by one worker',
    },
  },
} as const satisfies Readonly<Record<string, Row>>;

export type Step = keyof typeof MATRIX;

export const STEPS = Object.keys(MATRIX) as Step[]; // Object.keys loses the key type.

/** The faults that can meet a step. */
export type FaultOf<S extends Step> = {
  [F in Fault]: (typeof MATRIX)[S]['cells'][F] extends '-' ? never : F;
}[Fault];

export function nameOf(step: Step, fault: Fault): string {
  return `fm/${step}/${fault}`;
}
