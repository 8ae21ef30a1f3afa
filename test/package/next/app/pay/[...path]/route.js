import { local } from 'exact-change';
import { createHandler } from 'exact-change/http';
import { nextRoutes } from 'exact-change/next';

// What the handler saw, in the answer: no test is in this process.
const authorize = ({ url, headers }) =>
  headers.get('x-ask') === 'url' ? Response.json({ url }) : true;

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = nextRoutes(
  createHandler(local({ rpcUrl: 'http://127.0.0.1:9' }), { basePath: '/pay', authorize }),
);
