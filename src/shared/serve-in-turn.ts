import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Calls `serve` for one request of a connection at a time, as Go does; Node.js would call it for all that the client has
 * sent, and tell only the first response when the connection is closed. A request waits for the response to the previous
 * one; a connection with two that wait is closed.
 */
export function serveInTurn(server: Server, serve: (request: IncomingMessage, response: ServerResponse) => void): void {
  const waiting = new WeakSet<Socket>();
  server.on('request', (request, response) => {
    const { socket } = request;
    // A response has a socket when it may be sent.
    if (response.socket !== null) return serve(request, response);
    if (waiting.has(socket)) return void socket.destroy();
    waiting.add(socket);
    response.once('socket', () => {
      waiting.delete(socket);
      serve(request, response);
    });
  });
}
