import { ImageError } from '../node/index.ts';
import { CRIError } from './cri-error.ts';

const prefixes: readonly ImageError['reason'][] = ['RegistryUnavailable', 'SignatureValidationFailed'];

/**
 * The error of a failed pull. A prefix of the runtime's message selects a more specific reason. Source: kubelet
 * `evalCRIPullErr`, cri-client `PullImage`.
 */
export function pullError(error: unknown): Error {
  if (!(error instanceof CRIError)) return error as Error;
  const message = error.code === 'Unknown' ? error.message : error.goMessage;
  const reason = prefixes.find((prefix) => message.startsWith(prefix));
  if (reason === undefined) return new Error(message, { cause: error });
  return new ImageError(reason, message.slice(reason.length).replace(/^: /, ''), { cause: error });
}

/** Of grpc-js, when the connection breaks during a call or the call takes too long. */
const codesWithoutAnswer: ReadonlySet<string> = new Set(['Canceled', 'DeadlineExceeded', 'Internal', 'Unavailable']);

/** Whether a failed pull may have succeeded in the runtime. */
export function isWithoutAnswer({ cause }: Error): boolean {
  return cause instanceof CRIError && codesWithoutAnswer.has(cause.code);
}
