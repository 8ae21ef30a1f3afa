import * as library from 'exact-change';
import { check } from './checks.cjs';

await check(library);
