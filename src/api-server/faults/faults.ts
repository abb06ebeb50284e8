import type { Fault } from './fault.ts';
import {
  type FaultRequest,
  fits,
  type MatchValues,
  type RequestMatch,
  requireMatch,
  type RunningRequest,
} from './fault-match.ts';

/** Which requests a fault is for, and how many of them. */
export interface FaultMatch extends RequestMatch {
  /** Default 1; Infinity for all. */
  readonly count?: number;
}

/** A fault that was asked for. */
export interface PlannedFault {
  readonly match: FaultMatch;
  readonly fault: Fault;
  /** How many requests it is still for. */
  readonly remaining: number;
  /** The requests that met it, oldest first. */
  readonly requests: readonly FaultRequest[];
  /** It meets no further request. */
  cancel(): void;
}

/** One request that met a fault. */
export interface UsedFault {
  readonly fault: Fault;
  readonly request: FaultRequest;
}

/**
 * The faults that a test asks for, and the requests that met them. Where several fit a request, it
 * meets the one that was asked for first.
 */
export interface Faults {
  /**
   * The next request that fits meets this fault, or the next `count` of them.
   * @throws RangeError for a match that no request can fit
   */
  next(match: FaultMatch, fault: Fault): PlannedFault;
  /**
   * Every request that fits and is running now meets this fault: watches, and requests that hang.
   * A watch takes `cut`, `hang`, `end` and `expire`; any other request `cut`.
   * @returns how many there were
   * @throws RangeError for another fault
   */
  now(match: RequestMatch, fault: Fault): number;
  /** Faults that still wait for a request, in the order in which they were asked for. */
  readonly pending: readonly PlannedFault[];
  /** Faults that requests met, in order. */
  readonly used: readonly UsedFault[];
  /** Cancels what is pending, and forgets what was used. */
  clear(): void;
}

/** The faults of one server or client, with the side that applies them. */
export class FaultPlan implements Faults {
  readonly #planned = new Set<Planned>();
  readonly #used: UsedFault[] = [];
  readonly #running = new Set<RunningRequest>();
  readonly #values: MatchValues;

  constructor(values: MatchValues) {
    this.#values = values;
  }

  next(match: FaultMatch, fault: Fault): PlannedFault {
    const { count = 1, ...request } = match;
    requireMatch(request, this.#values);
    if (!(count >= 1 && (Number.isInteger(count) || count === Number.POSITIVE_INFINITY)))
      throw new RangeError(`Expected \`count\` to be an integer ≥ 1 or Infinity, got \`${count}\``);
    if (fault.kind === 'end' && match.verb !== 'watch')
      throw new RangeError('Expected `verb` to be watch: fault.end() is for watches only');
    const planned = new Planned(match, fault, count, (ended) => this.#planned.delete(ended));
    this.#planned.add(planned);
    return planned;
  }

  now(match: RequestMatch, fault: Fault): number {
    requireMatch(match, this.#values);
    const running = [...this.#running].filter((request) => fits(match, request));
    for (const request of running) {
      request.apply(fault);
      const { verb, resource, subresource, namespace, name } = request;
      this.#used.push({ fault, request: { verb, resource, subresource, namespace, name } });
    }
    return running.length;
  }

  get pending(): readonly PlannedFault[] {
    return [...this.#planned];
  }

  get used(): readonly UsedFault[] {
    return [...this.#used];
  }

  clear(): void {
    this.#planned.clear();
    this.#used.length = 0;
  }

  /** The fault that this request meets, which counts as used from here on. */
  take(request: FaultRequest): Fault | undefined {
    for (const planned of this.#planned) {
      if (!fits(planned.match, request)) continue;
      planned.use(request);
      this.#used.push({ fault: planned.fault, request });
      return planned.fault;
    }
    return undefined;
  }

  /** Makes the request reachable for `now` until the returned function is called. */
  track(request: RunningRequest): () => void {
    this.#running.add(request);
    return () => void this.#running.delete(request);
  }
}

class Planned implements PlannedFault {
  readonly match: FaultMatch;
  readonly fault: Fault;
  readonly requests: FaultRequest[] = [];
  readonly #onEnd: (planned: Planned) => void;
  #remaining: number;

  constructor(match: FaultMatch, fault: Fault, count: number, onEnd: (planned: Planned) => void) {
    this.match = match;
    this.fault = fault;
    this.#remaining = count;
    this.#onEnd = onEnd;
  }

  get remaining(): number {
    return this.#remaining;
  }

  use(request: FaultRequest): void {
    this.requests.push(request);
    this.#remaining--;
    if (this.#remaining === 0) this.#onEnd(this);
  }

  cancel(): void {
    this.#remaining = 0;
    this.#onEnd(this);
  }
}
