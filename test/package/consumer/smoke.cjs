require('./checks.cjs').check(
  require('exact-change'),
  require('exact-change/http'),
  require('exact-change/node'),
  require('exact-change/webhooks'),
);
