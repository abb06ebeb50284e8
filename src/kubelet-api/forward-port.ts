import type { Duplex } from 'node:stream';
import { reasonOf } from '../shared/logger.ts';

/** How ports of a pod are reached. */
export interface PortForward {
  /** For errors that the client shows. */
  readonly podName: string;
  readonly podUID: string;
  /** Connects `stream` with a port of the pod. Resolves when the connection has ended. */
  readonly forward: (port: number, stream: Duplex, signal: AbortSignal) => Promise<void>;
}

/**
 * Connects a stream of the client with a port. Resolves when the connection has ended, with an error for the client or
 * undefined. Never rejects.
 */
export async function forwardPort(
  { podName, podUID, forward }: PortForward,
  port: number,
  stream: Duplex,
): Promise<string | undefined> {
  const aborted = new AbortController();
  stream.once('close', () => aborted.abort());
  try {
    await forward(port, stream, aborted.signal);
    return undefined;
  } catch (error) {
    // The end of the stream is not a failure.
    if (aborted.signal.aborted) return undefined;
    return `error forwarding port ${port} to pod ${podName}, uid ${podUID}: ${reasonOf(error)}`;
  }
}
