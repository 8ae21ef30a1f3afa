/** What can go wrong at a step. */
export const FAULTS = [
  'kill -9',
  'timeout',
  '429',
  '5xx',
  'malformed',
  'lost response',
  'expired',
  'duplicate',
  'concurrent',
] as const;

export type Fault = (typeof FAULTS)[number];

/** What must hold if the fault meets the step; `-` if it cannot. */
type Cells = { readonly [F in Fault]: string };

interface Row {
  readonly step: string;
  /**
   * Of the package, if the step is not one of the core's: its cells need a test once that is
   * exported.
   */
  readonly subpath?: string;
  readonly cells: Cells;
}

/**
 * The fault matrix: each step of a payment against each fault. `expired` is a blockhash past its
 * last block, a quote or a balance that is no longer true, and a block that was dropped. Common to
 * all cells, and compared after each: at most one settled payment for a purchase, and sums of
 * chain, journal and merchant that agree.
 */
export const MATRIX = {
  '1': {
    step: 'the first, unpaid request',
    cells: {
      'kill -9': 'nothing is owed and nothing is on record',
      timeout: 'the caller gets the reason of its own signal, as from fetch',
      '429': 'the answer comes back as it is',
      '5xx': 'the answer comes back as it is',
      malformed:
        'what is no payment request comes back as it is, and broken HTTP fails as with fetch',
      'lost response': 'the call fails as fetch does',
      expired: '-',
      duplicate: '-',
      concurrent: 'one call that fails does not touch the others',
    },
  },
  '2': {
    step: 'reading the 402',
    cells: {
      'kill -9': 'nothing is owed and nothing is on record',
      timeout: 'a body that does not end is a typed error in time, before anything is signed',
      '429': '-',
      '5xx': '-',
      malformed: 'terms that cannot be read are refused by type',
      'lost response': 'terms that break off are refused by type',
      expired: '-',
      duplicate: 'the same 402 gets the same verdict again',
      concurrent: 'verdicts do not mix',
    },
  },
  '3': {
    step: 'policy and reservation',
    cells: {
      'kill -9': 'what the dead process reserved is free again',
      timeout: 'a journal that does not answer ends the call in time, before anything is signed',
      '429': '-',
      '5xx': '-',
      malformed: 'what the policy does not allow is refused with its rule',
      'lost response': '-',
      expired: '-',
      duplicate: 'one key is one purchase; with another request it is refused',
      concurrent: 'the sum never passes the cap',
    },
  },
  '4': {
    step: 'reading the balance',
    cells: {
      'kill -9': 'nothing is owed, and the next process buys',
      timeout: 'the next node answers; where there is none, a typed error in time',
      '429': 'asked again; where it goes on, a typed error',
      '5xx': 'another node answers',
      malformed: 'another node answers; where there is none, a typed error',
      'lost response': 'asked again',
      expired: 'a balance that is gone is read again, at confirmed',
      duplicate: 'reading it several times changes nothing',
      concurrent: 'what is promised to one payment is not promised to another',
    },
  },
  '5': {
    step: 'the quote',
    cells: {
      'kill -9': 'nothing is owed, and the next process buys',
      timeout: 'a typed error in time, nothing signed',
      '429': 'asked again',
      '5xx': 'asked again; where it goes on, a typed error',
      malformed: 'what is no quote, or one for something else, is refused by type',
      'lost response': 'asked again',
      expired: 'a quote that the market has left is replaced',
      duplicate: 'an old answer that comes again makes no second swap',
      concurrent: 'payments that are short together share a swap',
    },
  },
  '6': {
    step: 'building the swap',
    cells: {
      'kill -9': 'nothing is owed, and the next process buys',
      timeout: 'a typed error in time, nothing signed',
      '429': 'asked again',
      '5xx': 'asked again; where it goes on, a typed error',
      malformed: 'what is no swap of ours is refused by type',
      'lost response': 'asked again: unsigned, it is harmless',
      expired: 'built again on a new blockhash',
      duplicate: 'of several builds one is signed',
      concurrent: 'one build at a time, and one swap',
    },
  },
  '7': {
    step: 'firewall and simulation',
    cells: {
      'kill -9': 'nothing is owed, and the next process buys',
      timeout: 'never skipped: a typed error in time, nothing signed',
      '429': 'asked again; never skipped',
      '5xx': 'asked again; never skipped',
      malformed:
        'what the firewall does not understand is refused, and so is a simulation that is none',
      'lost response': 'asked again',
      expired: 'a node that is behind is asked again',
      duplicate: 'the same swap gets the same verdict again',
      concurrent: 'verdicts do not mix',
    },
  },
  '8': {
    step: 'signing the swap',
    cells: {
      'kill -9': 'unsigned, it is made anew; signed and on record, it happens at most once',
      timeout: '-',
      '429': '-',
      '5xx': 'a journal that cannot be written stops the swap before it leaves',
      malformed: 'a signature that does not fit is refused, nothing leaves',
      'lost response': '-',
      expired: '-',
      duplicate: 'what is on record is what was signed and what lands',
      concurrent: 'one signature for all calls that wait',
    },
  },
  '9': {
    step: 'sending the swap',
    cells: {
      'kill -9': 'it lands at most once, and the next process buys',
      timeout: 'the same bytes are sent again',
      '429': 'the same bytes are sent again',
      '5xx': 'the same bytes are sent again, also to another node',
      malformed: 'an answer that says nothing decides nothing: the chain does',
      'lost response': 'a lost answer decides nothing: the chain does',
      expired:
        'once past its last block it is made anew, once; then a typed error, and nothing moved',
      duplicate: 'that it was sent already is no failure',
      concurrent: 'the same bytes from two senders land once',
    },
  },
  '10': {
    step: 'confirming the swap',
    cells: {
      'kill -9': 'it lands at most once, and the next process buys',
      timeout: 'held until the chain has decided',
      '429': 'asked again',
      '5xx': 'another node is asked',
      malformed: 'asked again',
      'lost response': 'asked again',
      expired: 'one that a block lost is sent again',
      duplicate: '-',
      concurrent: 'a call that waits for it uses what it brings',
    },
  },
  '10b': {
    step: 'a swap that landed and failed',
    cells: {
      'kill -9': 'only its fee is gone, and the next process buys',
      timeout: 'only its fee is gone; made anew once if the price had moved',
      '429': 'only its fee is gone; made anew once if the price had moved',
      '5xx': 'only its fee is gone; made anew once if the price had moved',
      malformed: 'only its fee is gone; made anew once if the price had moved',
      'lost response': 'only its fee is gone; made anew once if the price had moved',
      expired: 'only its fee is gone; made anew once if the price had moved',
      duplicate: '-',
      concurrent: 'a call that waits gets the next swap or the reason',
    },
  },
  '11': {
    step: 'reading the balance after the swap',
    cells: {
      'kill -9': 'what was swapped is there for the next process',
      timeout: 'asked again',
      '429': 'asked again',
      '5xx': 'asked again',
      malformed: 'asked again',
      'lost response': 'asked again',
      expired: 'read at confirmed',
      duplicate: '-',
      concurrent: 'what is promised to one payment is not promised to another',
    },
  },
  '12': {
    step: 'building and signing the payment',
    cells: {
      'kill -9':
        'signed and on record, the same bytes are presented or proved expired; else it is made anew',
      timeout: 'the blockhash is asked for again',
      '429': 'the blockhash is asked for again',
      '5xx': 'the blockhash is asked for again',
      malformed: 'what does not check against itself is refused, nothing leaves',
      'lost response': '-',
      expired: 'signed on a fresh blockhash',
      duplicate: 'one live authorization for a purchase',
      concurrent: 'the second call under a key is told to wait',
    },
  },
  '13': {
    step: 'sending the paid request',
    cells: {
      'kill -9': 'it may have been taken: the chain is asked before anything else is signed',
      timeout: 'held as uncertain; the same bytes or none',
      '429': 'held: it may have been taken; the same bytes or none',
      '5xx': 'held: it may have been taken; the same bytes or none',
      malformed: 'held as uncertain; the same bytes or none',
      'lost response': 'held as uncertain; the same bytes or none',
      expired: 'once proved expired, a new purchase may be signed',
      duplicate: 'that it was settled already is a success to look up',
      concurrent: 'the second call under a key is told to wait',
    },
  },
  '14': {
    step: 'reading the paid answer',
    cells: {
      'kill -9': 'the chain is asked, and the receipt is not lost',
      timeout: 'the receipt in the headers is kept',
      '429': 'a failure that was paid for is reported with its receipt',
      '5xx': 'a failure that was paid for is reported with its receipt',
      malformed: 'a receipt that cannot be read is replaced by the chain',
      'lost response': 'the chain is asked, and the receipt is not lost',
      expired: 'a payment that a block lost is watched until it is decided',
      duplicate: 'the first answer counts',
      concurrent: '-',
    },
  },
  '15': {
    step: 'another 402 after paying',
    cells: {
      'kill -9': 'nothing more is signed until the first is decided',
      timeout: 'nothing more is signed until the first is decided',
      '429': 'nothing more is signed until the first is decided',
      '5xx': 'nothing more is signed until the first is decided',
      malformed: 'nothing more is signed until the first is decided',
      'lost response': 'nothing more is signed until the first is decided',
      expired: 'proved expired first',
      duplicate: 'the same bytes or none',
      concurrent: 'the second call is told to wait',
    },
  },
  '16': {
    step: 'writing the receipt',
    cells: {
      'kill -9': 'the next process writes it',
      timeout: 'the answer is delivered, and the record catches up',
      '429': '-',
      '5xx': '-',
      malformed: 'a damaged journal stops spending',
      'lost response': '-',
      expired: 'the chain upgrades the state later',
      duplicate: 'written twice, it is there once',
      concurrent: 'writers do not undo each other',
    },
  },
  '17': {
    step: 'webhooks',
    subpath: './webhooks',
    cells: {
      'kill -9': 'the next process delivers what was not',
      timeout: 'delivered again later',
      '429': 'delivered again when asked to',
      '5xx': 'delivered again later',
      malformed: 'delivered again later; gone for good ends it',
      'lost response': 'delivered again; the receiver knows the id',
      expired: 'a correction is delivered',
      duplicate: 'the receiver knows the id',
      concurrent: 'one worker delivers',
    },
  },
} as const satisfies Readonly<Record<string, Row>>;

export type Step = keyof typeof MATRIX;

export const STEPS = Object.keys(MATRIX) as Step[]; // Its own keys.

/** The faults that a step can meet. */
export type FaultOf<S extends Step> = {
  [F in Fault]: (typeof MATRIX)[S]['cells'][F] extends '-' ? never : F;
}[Fault];

export function nameOf(step: Step, fault: Fault): string {
  return `fm/${step}/${fault}`;
}

/** The names of all cells that need a test, in the order of the matrix. */
export function cellNames(steps: readonly Step[] = STEPS): string[] {
  return steps.flatMap((step) =>
    FAULTS.filter((fault) => MATRIX[step].cells[fault] !== '-').map((fault) => nameOf(step, fault)),
  );
}
