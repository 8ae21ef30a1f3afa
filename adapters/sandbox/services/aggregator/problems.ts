/** A refusal in the form of Jupiter: an HTTP status with `{ error, errorCode }`. */
export class Refusal extends Error {
  readonly status: number;
  readonly errorCode: string;

  constructor(errorCode: string, message: string, status = 400) {
    super(message);
    this.errorCode = errorCode;
    this.status = status;
  }
}

export const noRoutes = (): Refusal => new Refusal('NO_ROUTES_FOUND', 'No routes found');
export const noExactOutRoute = (): Refusal =>
  new Refusal('COULD_NOT_FIND_ANY_ROUTE', 'Could not find any route');
export const notTradable = (mint: string): Refusal =>
  new Refusal('TOKEN_NOT_TRADABLE', `The token ${mint} is not tradable`);
export const circular = (): Refusal =>
  new Refusal('CIRCULAR_ARBITRAGE_IS_DISABLED', 'Circular arbitrage is disabled');
export const badParameter = (name: string, why: string): Refusal =>
  new Refusal('BAD_REQUEST', `Query parameter ${name} cannot be parsed: ${why}`);
export const badBody = (why: string): Refusal =>
  new Refusal('BAD_REQUEST', `Failed to deserialize the JSON body into the target type: ${why}`);
