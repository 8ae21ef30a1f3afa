require('./sandbox-checks.cjs').check(require('exact-change'), require('exact-change-sandbox'));
