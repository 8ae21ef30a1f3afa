require('./checks.cjs').check(require('exact-change'));
