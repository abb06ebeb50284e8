import { type AddressInfo, isIPv6, type Server } from 'node:net';
import { StatusManagerError } from './errors.ts';
import { reasonOf } from './logger.ts';
import { integer, optional } from './option-checks.ts';

/** Where a server listens. */
export interface ListenAddress {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
}

/** Checks of a `ListenAddress`. */
export const listenChecks = {
  host: optional('an address', (host) => typeof host === 'string' && host !== ''),
  port: integer(0, 65_535),
};

/**
 * Resolves with the port, and with the address as URLs have it: `127.0.0.1:10248`.
 * @throws StatusManagerError INVALID_STATE when the address cannot be listened on; says what to do when the port is taken
 */
export async function listen(
  server: Server,
  { host, port }: ListenAddress,
): Promise<{ port: number; address: string }> {
  await new Promise<void>((resolve, reject) => {
    const refuse = (cause: NodeJS.ErrnoException): void => {
      const hint =
        cause.code === 'EADDRINUSE'
          ? '; choose another port, or stop what uses it: a kubelet, or an earlier agent'
          : '';
      const message = `Cannot listen on ${urlAddress(host, port)}: ${reasonOf(cause)}${hint}`;
      reject(new StatusManagerError('INVALID_STATE', message, { cause }));
    };
    server.once('error', refuse);
    server.listen(port, host, () => {
      server.off('error', refuse);
      resolve();
    });
  });
  const listening = server.address() as AddressInfo;
  return { port: listening.port, address: urlAddress(listening.address, listening.port) };
}

function urlAddress(host: string, port: number): string {
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`;
}
