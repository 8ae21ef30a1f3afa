import { local } from 'exact-change';
import { createHandler } from 'exact-change/http';
import { nextRoutes } from 'exact-change/next';

// Returns the URL that the handler saw, because the test runs in another process.
const authorize = ({ url, headers }) =>
  headers.get('x-ask') === 'url' ? Response.json({ url }) : true;

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = nextRoutes(
  createHandler(local({ rpcUrl: 'http://127.0.0.1:9' }), { basePath: '/pay', authorize }),
);
