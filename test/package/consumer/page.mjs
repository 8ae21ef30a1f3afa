import { createClient, isExactChangeError, receiptOf } from 'exact-change';

Object.assign(globalThis, { exactChange: { createClient, isExactChangeError, receiptOf } });
