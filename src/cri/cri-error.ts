import { status } from '@grpc/grpc-js';

/** The fields of a grpc-js error that are read. */
interface CallFailure {
  readonly code: number;
  readonly details: string;
  readonly message: string;
}

/**
 * A call that the runtime refused. `message` is the plain text of the runtime; `goMessage` is the error text of Go's
 * gRPC client, which the kubelet shows in some places.
 */
export class CRIError extends Error {
  override readonly name = 'CRIError';
  /** The gRPC code, as Go prints it: `NotFound`. */
  readonly code: string;

  constructor({ code, details, message }: CallFailure) {
    // grpc-js ends its own messages with an empty note.
    super((details || message).replace(/\. Resolution note: $/, ''));
    this.code = goCodeName(code);
  }

  get goMessage(): string {
    return `rpc error: code = ${this.code} desc = ${this.message}`;
  }
}

export function hasCode(error: unknown, code: string): boolean {
  return error instanceof CRIError && error.code === code;
}

/** Undefined for a container or sandbox that is already gone. */
export async function undefinedIfNotFound<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (hasCode(error, 'NotFound')) return undefined;
    throw error;
  }
}

/** The kubelet shows the errors of some calls as Go formats them. */
export async function withGoMessage<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw error instanceof CRIError ? new Error(error.goMessage, { cause: error }) : error;
  }
}

/** `NOT_FOUND` → `NotFound`. Go formats one code differently. */
function goCodeName(code: number): string {
  const name = status[code];
  if (name === undefined) return `Code(${code})`;
  if (name === 'CANCELLED') return 'Canceled';
  return name.toLowerCase().replaceAll(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase());
}
