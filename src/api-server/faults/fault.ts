import type { APIErrorCause } from '../../kube/client/api-error.ts';
import { expired } from '../api-status.ts';

/** One failure of a request. Created by `fault`. */
export type Fault =
  | {
      readonly kind: 'status';
      readonly code: number;
      readonly reason: string;
      readonly message: string;
      readonly causes: readonly APIErrorCause[];
      readonly retryAfterMs: number | undefined;
    }
  | { readonly kind: 'body'; readonly text: string }
  | { readonly kind: 'hang'; readonly isProcessed: boolean }
  | { readonly kind: 'cut'; readonly afterBytes: number | undefined }
  | { readonly kind: 'end' }
  | { readonly kind: 'expire' }
  | { readonly kind: 'delay'; readonly ms: number; readonly next: Fault | undefined };

/** The faults of one kind. */
export type FaultOf<Kind extends Fault['kind']> = Extract<Fault, { readonly kind: Kind }>;

/** Parts of `fault.status`; the defaults are those of kube-apiserver for the code. */
export interface FaultStatus {
  readonly reason?: string;
  readonly message?: string;
  /** Of a 422, for example `{ field: 'metadata.uid', reason: 'FieldValueInvalid' }`. */
  readonly causes?: readonly APIErrorCause[];
  /** Rounded up to whole seconds, the only unit of `Retry-After`. */
  readonly retryAfterMs?: number;
}

const reasons: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  409: 'Conflict',
  410: 'Expired',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

/**
 * The faults of `APIServer.faults` and `FakePodClient.faults`. Each function only describes a fault; `next`
 * and `now` apply it.
 *
 * @example
 * ```ts
 * import { FakePodClient, fault } from 'kubelet-status-manager/testing';
 *
 * const client = new FakePodClient([pod]);
 * client.faults.next({ verb: 'patch', count: 3 }, fault.status(500));
 * client.faults.next({ verb: 'get' }, fault.delay(2_000, fault.hang()));
 * ```
 */
export const fault = {
  /**
   * The request is not processed; the response is a `Status` of this code: 409, 429, 503, ….
   * @throws RangeError for a code outside 400–599 or a negative `retryAfterMs`
   */
  status(
    code: number,
    { reason = reasons[code] ?? '', message, causes = [], retryAfterMs }: FaultStatus = {},
  ): FaultOf<'status'> {
    if (!(Number.isInteger(code) && code >= 400 && code <= 599))
      throw new RangeError(`Expected \`code\` to be an integer between 400 and 599, got \`${code}\``);
    if (retryAfterMs !== undefined) requireDuration('retryAfterMs', retryAfterMs);
    return {
      kind: 'status',
      code,
      reason,
      message: message ?? `the test asked for ${code} ${reason}`.trimEnd(),
      causes,
      retryAfterMs: retryAfterMs === undefined ? undefined : Math.ceil(retryAfterMs / 1000) * 1000,
    };
  },

  /** The request is not processed; the response is a 200 with this body, such as the login page of a proxy. */
  body(text: string): FaultOf<'body'> {
    return { kind: 'body', text };
  },

  /**
   * No response is sent until the client aborts. A running watch stays open without events.
   * @param options isProcessed: processes the request first; default false
   */
  hang({ isProcessed = false }: { readonly isProcessed?: boolean } = {}): FaultOf<'hang'> {
    return { kind: 'hang', isProcessed };
  },

  /**
   * The connection is cut. Without `afterBytes`, the request is not processed. With it, the request is
   * processed, and the connection is cut after this many bytes of the response body; 0 sends nothing.
   */
  cut({ afterBytes }: { readonly afterBytes?: number } = {}): FaultOf<'cut'> {
    if (afterBytes !== undefined && !(Number.isInteger(afterBytes) && afterBytes >= 0))
      throw new RangeError(`Expected \`afterBytes\` to be an integer ≥ 0, got \`${afterBytes}\``);
    return { kind: 'cut', afterBytes };
  },

  /** A watch ends normally, as after its timeout. Only for watches. */
  end(): FaultOf<'end'> {
    return { kind: 'end' };
  },

  /** The resourceVersion has expired: an ERROR event with code 410 in a watch, which ends; else 410. */
  expire(): FaultOf<'expire'> {
    return { kind: 'expire' };
  },

  /** The request waits this long on the server's or the client's clock before it is processed, or meets `next`. */
  delay(ms: number, next?: Fault): FaultOf<'delay'> {
    requireDuration('ms', ms);
    return { kind: 'delay', ms, next };
  },
} as const;

/** What the server responds with to a request whose resourceVersion has expired. */
export const expiredFault = expired('The resourceVersion is too old (injected fault)');

function requireDuration(name: string, ms: number): void {
  if (!(ms >= 0 && ms < Number.POSITIVE_INFINITY))
    throw new RangeError(`Expected \`${name}\` to be a number of milliseconds ≥ 0, got \`${ms}\``);
}
