import type { IncomingMessage } from 'node:http';
import { isIPv4 } from 'node:net';
import { refuseOption } from './errors.ts';

/**
 * Whether the Host header names this server. It prevents DNS rebinding, in which another site's name
 * resolves to 127.0.0.1 so that its page can read local servers: such requests have that site's name.
 *
 * @param allowedHosts names without port; undefined: every name, except on a loopback connection
 */
export function isHostAllowed(request: IncomingMessage, allowedHosts: ReadonlySet<string> | undefined): boolean {
  if (allowedHosts === undefined && !isLoopback(request.socket.localAddress)) return true;
  const name = hostnameOf(request.headers.host);
  if (name === undefined) return false;
  return isLoopbackName(name) || (allowedHosts?.has(name) ?? false);
}

/** The option `allowedHosts`. @throws StatusManagerError INVALID_OPTION */
export function resolveAllowedHosts(names: readonly string[] | undefined): ReadonlySet<string> | undefined {
  if (names === undefined) return undefined;
  if (!Array.isArray(names)) refuseOption('allowedHosts', 'a list of host names', names);
  return new Set(
    names.map((name: unknown, i) => {
      const hostname = typeof name === 'string' && !/:\d+$/.test(name) ? hostnameOf(name) : undefined;
      return hostname ?? refuseOption(`allowedHosts[${i}]`, 'a host name without port', name);
    }),
  );
}

/** Undefined if it is not a host name. IPv6 addresses are in brackets, names in lower case. */
function hostnameOf(host: string | undefined): string | undefined {
  const url = `http://${host ?? ''}`;
  return URL.canParse(url) ? new URL(url).hostname : undefined;
}

function isLoopbackName(name: string): boolean {
  return name === 'localhost' || name === '[::1]' || (isIPv4(name) && name.startsWith('127.'));
}

/** Undefined on a Unix domain socket, which no browser connects to. */
function isLoopback(localAddress: string | undefined): boolean {
  return localAddress !== undefined && /^(127\.|::1$|::ffff:127\.)/.test(localAddress);
}
