import type { Connection } from '@solana/web3.js';

/**
 * Closes the WebSocket of a web3.js connection, which has no public method for that. An open socket
 * reconnects to the closed node forever and prints errors.
 */
export function endSocket(connection: Connection): void {
  const { _rpcWebSocket: socket } = connection as unknown as {
    _rpcWebSocket: { setAutoReconnect(reconnect: boolean): void; close(): void };
  };
  socket.setAutoReconnect(false);
  socket.close();
}
