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

/** A planned fault. */
export interface PlannedFault {
  readonly match: FaultMatch;
  readonly fault: Fault;
  /** How many more requests it applies to. */
  readonly remaining: number;
  /** The requests that it was applied to, oldest first. */
  readonly requests: readonly FaultRequest[];
  /** Applies it to no further request. */
  cancel(): void;
}

/** One request that a fault was applied to. */
export interface UsedFault {
  readonly fault: Fault;
  readonly request: FaultRequest;
}

/**
 * The faults that a test plans, and the requests that they were applied to. If several match a
 * request, the one planned first applies.
 */
export interface Faults {
  /**
   * Applies the fault to the next matching request, or to the next `count` of them.
   * @throws RangeError for a match that no request can satisfy
   */
  next(match: FaultMatch, fault: Fault): PlannedFault;
  /**
   * Applies the fault to every matching request in flight: watches, and requests that hang.
   * Watches support `cut`, `hang`, `end` and `expire`; other requests only `cut`.
   * @returns the number of these requests
   * @throws RangeError for another fault
   */
  now(match: RequestMatch, fault: Fault): number;
  /** Faults that still wait for a request, in the order in which they were planned. */
  readonly pending: readonly PlannedFault[];
  /** Applied faults, oldest first. */
  readonly used: readonly UsedFault[];
  /** Cancels all pending faults and clears `used`. */
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
    const running = [...this.#running].filter(({ about }) => fits(match, about));
    for (const request of running) {
      request.apply(fault);
      this.#used.push({ fault, request: request.about });
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

  /** Takes the fault that applies to this request and records it as used. */
  take(request: FaultRequest): Fault | undefined {
    for (const planned of this.#planned) {
      if (!fits(planned.match, request)) continue;
      planned.use(request);
      this.#used.push({ fault: planned.fault, request });
      return planned.fault;
    }
    return undefined;
  }

  /** Registers the request for `now` until the returned function is called. */
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
