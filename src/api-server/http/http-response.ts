import { systemClock } from '../../shared/clock.ts';
import { APIStatusError } from '../api-status.ts';
import type { ServerRequest, ServerResponse } from './exchange.ts';
import type { JSONResponse } from '../handlers.ts';

/** How long the body of a refused request is still read. */
const lingerMs = 500;

export function send(response: ServerResponse, code: number, type: string, text: string): undefined {
  response.writeHead(code, {
    'content-type': type,
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-cache, private',
  });
  response.end(text);
  return undefined;
}

/**
 * Closes the connection of a request whose body is not read completely. Keeps discarding the body for
 * a while, because otherwise a reset may make the client lose the response.
 * Source: `closeWriteAndWait` of Go's `net/http`.
 */
export function closeAfterResponse({ socket }: ServerRequest, response: ServerResponse): void {
  response.setHeader('connection', 'close');
  response.once('finish', () => {
    const timer = systemClock.afterFunc(lingerMs, () => socket.destroy());
    socket.once('close', () => timer.stop());
  });
}

export function failure(error: unknown): JSONResponse {
  if (error instanceof APIStatusError) return { code: error.code, body: error.body() };
  const message = `Internal error occurred: ${error instanceof Error ? error.message : 'unknown'}`;
  return { code: 500, body: new APIStatusError(500, 'InternalError', message).body() };
}
