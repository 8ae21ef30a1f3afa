import * as library from 'exact-change';
import * as http from 'exact-change/http';
import { check } from './checks.cjs';

await check(library, http);
