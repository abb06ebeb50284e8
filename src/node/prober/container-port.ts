import type { Container } from '../../kube/objects/types.ts';

/**
 * Resolves the port of a probe or hook: a number, or the name of one of the container's ports.
 * @throws Error when there is no such port. Source: kubelet `probe.ResolveContainerPort`.
 */
export function resolveContainerPort(port: number | string, container: Container): number {
  const number = typeof port === 'string' ? findPortByName(container, port) : port;
  if (!Number.isInteger(number) || number <= 0 || number > 65_535) throw new Error(`invalid port number: ${number}`);
  return number;
}

function findPortByName({ ports }: Container, portName: string): number {
  const port = ports?.find(({ name = '' }) => name === portName);
  if (port === undefined) throw new Error(`port ${JSON.stringify(portName)} not found`);
  return port.containerPort;
}

/** `host:port`, with brackets around an IPv6 address. Source: Go `net.JoinHostPort`. */
export function joinHostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
