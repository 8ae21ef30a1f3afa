/** What every mount serves, such as the handler of `createHandler`. */
export type FetchHandler = (request: Request) => Promise<Response>;
