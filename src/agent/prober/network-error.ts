import { getSystemErrorMap } from 'node:util';

/**
 * Why the connection to `address` failed, in the format that users know from the kubelet:
 * `dial tcp 10.0.0.7:8080: connect: connection refused`.
 */
export function dialErrorMessage(error: unknown, address: string): string {
  return `dial tcp ${address}: ${reasonOf(error)}`;
}

/** True for an error of the connection attempt, not for later errors. */
export function isDialError(error: unknown): boolean {
  const { syscall } = firstOf(error) as NodeJS.ErrnoException;
  return syscall === 'connect' || syscall === 'getaddrinfo';
}

function reasonOf(error: unknown): string {
  const { syscall, errno, message } = firstOf(error) as NodeJS.ErrnoException;
  if (syscall === 'getaddrinfo') return 'lookup failed: no such host';
  const known = errno === undefined ? undefined : getSystemErrorMap().get(errno);
  return known === undefined ? message : `connect: ${known[1]}`;
}

/** If a host name has several addresses, the error of the first one. */
function firstOf(error: unknown): unknown {
  return error instanceof AggregateError ? (error.errors[0] ?? error) : error;
}
