import * as library from 'exact-change';
import * as http from 'exact-change/http';
import * as node from 'exact-change/node';
import * as webhooks from 'exact-change/webhooks';
import { check } from './checks.cjs';

await check(library, http, node, webhooks);
