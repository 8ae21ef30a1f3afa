import * as library from 'exact-change';
import * as sandbox from 'exact-change-sandbox';
import { check } from './sandbox-checks.cjs';

await check(library, sandbox);
