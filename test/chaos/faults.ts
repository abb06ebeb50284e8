import { fault, type Fault } from '../../src/api-server/faults/fault.ts';
import { Random } from './random.ts';

/** The kind of a request to the API server, by its method and path. */
export type RequestKind = 'get' | 'patch' | 'delete' | 'list' | 'watch' | 'other';

/**
 * With `500` … `hang`, the request never reaches the API server. With `lost-response` … `duplicate-request`,
 * it does, and the fault affects its response.
 */
const requestFaults = {
  '500': 8,
  '503': 3,
  '429': 3,
  html: 6,
  reset: 8,
  hang: 4,
  'lost-response': 8,
  'html-response': 4,
  'hang-after': 3,
  'reset-mid-body': 8,
  trickle: 6,
  delay: 10,
  'duplicate-response': 6,
  'duplicate-request': 6,
};
const watchFaults = {
  '500': 3,
  '429': 2,
  html: 3,
  reset: 4,
  hang: 2,
  'watch-cut': 8,
  'watch-reset': 8,
  'watch-gone': 5,
  'watch-gone-event': 5,
  'watch-silence': 4,
};

export type RequestFault = keyof typeof requestFaults;
export type WatchFault = keyof typeof watchFaults;

/** One fault and the random numbers that it uses. */
export interface ChaosFault {
  readonly kind: RequestFault | WatchFault;
  readonly random: Random;
}

const retryAfterMs = 2_000;
export const htmlPage = '<!DOCTYPE html><html><body><h1>Welcome</h1></body></html>\n';

/**
 * The fault as `kubelet-status-manager/testing` has it. Undefined for a fault that only a proxy can
 * cause: one of a response that the API server has sent, or of a request that is sent twice.
 */
export function kitFault({ kind, random }: ChaosFault): Fault | undefined {
  switch (kind) {
    case '500':
      return fault.status(500);
    case '503':
    case '429':
      return fault.status(Number(kind), random.chance(0.7) ? { retryAfterMs } : {});
    case 'html':
      return fault.body(htmlPage);
    case 'reset':
      return fault.cut();
    case 'hang':
      return fault.hang();
    case 'hang-after':
      return fault.hang({ isProcessed: true });
    case 'watch-gone':
      return fault.status(410);
    case 'watch-cut':
      return fault.end();
    case 'watch-gone-event':
      return fault.expire();
    case 'watch-silence':
      return fault.hang();
    default:
      return undefined;
  }
}

/** The share of requests that are affected by a fault, which changes from one span of time to the next. */
const faultShares = { low: 0.03, medium: 0.25, high: 0.7 };
const spanMs = 1_500;
const watchFaultShare = 0.3;

/**
 * Decides by the seed which request is affected by which fault. The n-th request of a kind for a pod
 * has the same fault in every run, if it arrives in a span with the same share of faults.
 */
export class FaultSchedule {
  readonly #seed: string;
  readonly #counts = new Map<string, number>();

  constructor(seed: string) {
    this.#seed = seed;
  }

  /** @param key the pod's name, or whatever else distinguishes requests of one kind; @param atMs since the start */
  faultFor(kind: RequestKind, key: string, atMs: number): ChaosFault | undefined {
    const name = `${kind}/${key}`;
    const count = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, count);
    const random = new Random(`${this.#seed}/fault/${name}/${count}`);
    const share = kind === 'watch' ? watchFaultShare : this.#shareAt(atMs);
    if (!random.chance(share)) return undefined;
    return { kind: kind === 'watch' ? random.weighted(watchFaults) : random.weighted(requestFaults), random };
  }

  #shareAt(atMs: number): number {
    const span = Math.floor(atMs / spanMs);
    return faultShares[new Random(`${this.#seed}/share/${span}`).weighted({ low: 4, medium: 4, high: 2 })];
  }
}
