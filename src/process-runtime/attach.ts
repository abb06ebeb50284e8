import type { ContainerIO } from '../node/index.ts';
import { ShimConnection } from './shim-connection.ts';

/**
 * Connects a client to the process of a container, each stream over its own connection to the shim at `socket`. Resolves
 * when these have ended, or `signal` is aborted. Rejects if an output ends before the container.
 */
export async function attach(
  { socket, hasExited }: { readonly socket: string; readonly hasExited: () => boolean },
  { stdin, stdout, stderr }: Pick<ContainerIO, 'stdin' | 'stdout' | 'stderr'>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const connections: ShimConnection[] = [];
  const close = (): void => {
    for (const connection of connections) connection.close();
  };
  const connectFor = async (stream: object | undefined): Promise<ShimConnection | undefined> => {
    const connection = stream && (await ShimConnection.open(socket));
    if (connection === undefined) return undefined;
    connections.push(connection);
    if (signal?.aborted === true) close();
    await connection.started;
    return connection;
  };
  signal?.addEventListener('abort', close);
  try {
    const output = await connectFor(stdout);
    const errors = await connectFor(stderr);
    const input = await connectFor(stdin);
    // The outputs come first, so that nothing is missed that the input causes.
    output?.stream(1).pipe(stdout!, { end: false });
    errors?.stream(2).pipe(stderr!, { end: false });
    if (input !== undefined) stdin!.pipe(input.stream(0));
    const ends = connections.map(async (connection) => {
      await connection.ended;
      // Unread input must not hide the end of the client's connection.
      if (connection === input) stdin!.resume();
      else if (signal?.aborted !== true && !hasExited())
        throw new Error('the output was cut off: the client reads too slowly, or the shim was killed');
    });
    await Promise.all(ends);
  } finally {
    signal?.removeEventListener('abort', close);
    close();
  }
}
