import { fault, type Fault } from '../../src/testing/faults/fault.ts';
import { Random } from './random.ts';

/** What a request to the API server is, by its method and path. */
export type RequestKind = 'get' | 'patch' | 'delete' | 'list' | 'watch' | 'other';

/**
 * 500 … hang: the request never reaches the API server. lost-answer … duplicate-request: it does,
 * and its answer suffers.
 */
const requestFaults = {
  '500': 8,
  '503': 3,
  '429': 3,
  html: 6,
  reset: 8,
  hang: 4,
  'lost-answer': 8,
  'html-answer': 4,
  'hang-after': 3,
  'reset-mid-body': 8,
  trickle: 6,
  delay: 10,
  'duplicate-answer': 6,
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

/** One fault and the random numbers that go with it. */
export interface ChaosFault {
  readonly kind: RequestFault | WatchFault;
  readonly random: Random;
}

const retryAfterMs = 2_000;
export const htmlPage = '<!DOCTYPE html><html><body><h1>Welcome</h1></body></html>\n';

/**
 * The fault in the words of the testing kit; undefined for what a proxy alone can do: to a response
 * that the API server has given, or twice.
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

/** How bad it is in a span of time: the share of requests that a fault befalls. */
const weathers = { calm: 0.03, rough: 0.25, storm: 0.7 };
const spanMs = 1_500;
const watchFaultShare = 0.3;

/**
 * Which request meets which fault, decided by the seed: the n-th request of a kind for a pod meets
 * the same fault in every run, if it comes in the same weather.
 */
export class FaultSchedule {
  readonly #seed: string;
  readonly #counts = new Map<string, number>();

  constructor(seed: string) {
    this.#seed = seed;
  }

  /** @param key the pod's name, or whatever else tells requests of one kind apart; @param atMs since the start */
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
    return weathers[new Random(`${this.#seed}/weather/${span}`).weighted({ calm: 4, rough: 4, storm: 2 })];
  }
}
