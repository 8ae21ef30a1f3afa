export { SandboxChain } from './chain.js';
export type { ChainEvent, ChainOptions, SimulateOptions } from './chain.js';
export type { Commitment, Landed } from './history.js';
export { associatedTokenAccount, readMint, readToken } from './token.js';
export type { MintState, TokenState } from './token.js';
