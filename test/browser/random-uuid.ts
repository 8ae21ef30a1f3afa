/** What the contracts take of `node:crypto`, in a page. */
export const randomUUID = () => crypto.randomUUID();
