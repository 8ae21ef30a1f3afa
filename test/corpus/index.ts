import type { HostileCase } from './case.js';
import { compute } from './hostile/compute.js';
import { creation } from './hostile/creation.js';
import { envelope } from './hostile/envelope.js';
import { exposure } from './hostile/exposure.js';
import { jupiterAccounts } from './hostile/jupiter-accounts.js';
import { jupiterAmounts } from './hostile/jupiter-amounts.js';
import { jupiterForm } from './hostile/jupiter-form.js';
import { programs } from './hostile/programs.js';
import { systemCases } from './hostile/system.js';
import { tables } from './hostile/tables.js';
import { temporaryAccounts } from './hostile/temporary.js';
import { token } from './hostile/token.js';

export const hostile: readonly HostileCase[] = [
  ...[...envelope, ...tables, ...compute, ...systemCases, ...token, ...creation, ...programs],
  ...[...jupiterForm, ...jupiterAccounts, ...jupiterAmounts, ...exposure, ...temporaryAccounts],
];

export type { ChainAccount } from './accounts.js';
export type { HostileCase, SwapCase } from './case.js';
export { hostileInstructions } from './hostile/instructions.js';
export { legitimate } from './legitimate.js';
export { SLOT, WORLD } from './world.js';
