import { payments } from './payments.js';
const from = Date.now();
console.log(await payments(), Date.now() - from);
