import type { EmitCall } from '../events.js';
import { connectRpc } from '../solana/rpc/connection.js';
import type { Rpc } from '../solana/rpc/rpc.js';
import type { LocalSettings } from './options.js';

export function connectTo(
  settings: Pick<
    LocalSettings,
    'rpcUrls' | 'wsUrl' | 'connection' | 'network' | 'fetch' | 'timeouts' | 'runtime'
  >,
  emitCall?: EmitCall,
): Rpc {
  const { rpcUrls, wsUrl, connection, network, fetch, timeouts, runtime } = settings;
  return connectRpc({
    urls: rpcUrls,
    network,
    fetch,
    timeoutMs: timeouts.rpc,
    clock: runtime,
    wsUrl,
    connection,
    timer: emitCall && { now: runtime.now, onCall: (call) => emitCall('rpc.called', call) },
  });
}
