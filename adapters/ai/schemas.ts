import * as v from 'valibot';

// Input that a model may send. Objects are strict: a `limit` that a model invents is refused by its
// name, because the person sets the limits.

const describe = <S extends v.GenericSchema>(schema: S, text: string) =>
  v.pipe(schema, v.description(text));

const MAX_TEXT = 100_000;
const text = v.pipe(v.string(), v.maxLength(MAX_TEXT, 'is too long.'));
const token = v.pipe(v.string(), v.minLength(1), v.maxLength(44));
const amount = v.pipe(
  v.string(),
  v.regex(/^(0|[1-9][0-9]{0,19})(\.[0-9]{1,18})?$/, 'must be decimal text such as "0.25".'),
);

const request = {
  url: describe(v.pipe(v.string(), v.maxLength(2_048)), 'The address to call: https.'),
  method: v.optional(
    describe(
      v.picklist(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']),
      'Default: GET, or POST with a body.',
    ),
  ),
  headers: v.optional(
    describe(
      v.record(v.string(), text),
      'Request headers, such as {"accept": "application/json"}.',
    ),
  ),
  body: v.optional(describe(text, 'The body of the request.')),
};

export const paidFetchInput = v.strictObject({
  ...request,
  idempotencyKey: v.optional(
    describe(
      v.pipe(v.string(), v.regex(/^[\x21-\x7e]{1,255}$/)),
      'The same for every retry of one purchase, another for another.',
    ),
  ),
});

export const planInput = v.strictObject(request);

export const balanceInput = v.strictObject({
  tokens: v.optional(
    describe(
      v.pipe(v.array(token), v.maxLength(20)),
      'Symbols (SOL, USDC) or mints. Default: all.',
    ),
  ),
});

export const swapInput = v.strictObject({
  input: describe(token, 'The token that leaves: a symbol (SOL, USDC, USDT) or a mint.'),
  output: describe(token, 'The token that arrives.'),
  amount: describe(amount, 'As people write it, such as "0.25".'),
  exactOut: v.optional(
    describe(v.boolean(), 'The amount is of the output; default: of the input.'),
  ),
});

export const receiptsInput = v.strictObject({
  last: v.optional(
    describe(
      v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100)),
      'How many. Default 20.',
    ),
  ),
  host: v.optional(describe(v.pipe(v.string(), v.maxLength(255)), 'Of one host alone.')),
  state: v.optional(v.picklist(['pending', 'settled', 'unsettled', 'uncertain'])),
});

export const budgetInput = v.strictObject({});
