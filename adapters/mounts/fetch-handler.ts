/** The handler that a mount serves, such as the handler of `createHandler`. */
export type FetchHandler = (request: Request) => Promise<Response>;
