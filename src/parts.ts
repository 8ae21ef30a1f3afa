import { debugLogger } from '../adapters/debug.js';
import { localOver } from '../adapters/local/lazily.js';
import { remoteOver } from '../adapters/remote/lazily.js';
import type { ClientParts } from './client.js';
import { createEngine } from './payments/engine.js';
import { detectTerms } from './protocols/protocol.js';
import { x402Protocol } from './protocols/x402/protocol.js';

/** The parts that clients of this package load once they have to pay. */
export const parts: ClientParts = {
  createEngine,
  detectTerms,
  protocols: [x402Protocol],
  local: localOver,
  remote: remoteOver,
  logger: debugLogger,
};
