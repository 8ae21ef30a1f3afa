import type { Connection } from '@solana/web3.js';

/**
 * web3.js has no way to end its WebSocket; left alone it knocks on the closed node's port and says
 * so on the console.
 */
export function endSocket(connection: Connection): void {
  const { _rpcWebSocket: socket } = connection as unknown as {
    _rpcWebSocket: { setAutoReconnect(reconnect: boolean): void; close(): void };
  };
  socket.setAutoReconnect(false);
  socket.close();
}
