import type { AbortSignalLike } from '../../shared/abort.ts';
import { type Clock, sleep, systemClock } from '../../shared/clock.ts';
import type { ServerRequest, ServerResponse } from '../http/exchange.ts';
import { RequestsInFlight } from '../http/requests-in-flight.ts';
import { resources } from '../resources/resources.ts';
import { reviewResources } from '../access/review-resource.ts';
import type { Fault } from './fault.ts';
import { faultVerbs } from './fault-match.ts';
import { FaultPlan } from './faults.ts';
import { HTTPExchange } from './http-exchange.ts';

/** `''` is the object itself, and a path without resource such as `/version`. */
export const matchValues = {
  verb: faultVerbs,
  resource: ['', ...new Set([...resources, ...reviewResources].map(({ resource }) => resource))],
  subresource: ['', ...new Set(resources.flatMap(({ subresources }) => subresources.map(({ name }) => name)))],
};

/** Applies planned faults to the requests of one HTTP server. */
export class HTTPFaults {
  readonly plan = new FaultPlan(matchValues);
  readonly inFlight = new RequestsInFlight();
  readonly #clock: Clock;
  readonly #open = new Set<HTTPExchange>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Applies the fault of this request, or calls `process`.
   * @param latencyMs the delay of every request
   */
  async serve(
    request: ServerRequest,
    response: ServerResponse,
    latencyMs: number,
    process: () => Promise<void>,
  ): Promise<void> {
    const exchange = new HTTPExchange(request, response);
    const untrack = this.plan.track(exchange);
    this.#open.add(exchange);
    const end = this.inFlight.begin(exchange.about.verb === 'watch' ? 'watches' : 'requests');
    exchange.closed.addEventListener('abort', () => {
      this.#open.delete(exchange);
      untrack();
      end();
    });
    if (latencyMs > 0) await this.#wait(latencyMs, exchange);
    if (!exchange.closed.aborted) await this.#meet(this.plan.take(exchange.about), exchange, process);
  }

  /** Ends all requests that are in flight; the server cuts their connections. */
  abandonAll(): void {
    for (const exchange of this.#open) exchange.abandon();
  }

  async #meet(fault: Fault | undefined, exchange: HTTPExchange, process: () => Promise<void>): Promise<void> {
    if (fault === undefined) return process();
    switch (fault.kind) {
      case 'delay':
        await this.#wait(fault.ms, exchange);
        return exchange.closed.aborted ? undefined : this.#meet(fault.next, exchange, process);
      case 'hang':
        exchange.silence();
        if (fault.isProcessed) await process();
        exchange.markWithoutResponse();
        if (exchange.about.verb !== 'watch') void this.inFlight.holding(whenAborted(exchange.closed));
        return undefined;
      case 'cut':
        if (fault.afterBytes === undefined) return exchange.cut();
        exchange.cutAfter(fault.afterBytes);
        return process();
      default:
        return exchange.respond(fault);
    }
  }

  /** A request that waits on a fake clock counts as held, because only the test advances that clock. */
  async #wait(ms: number, { closed, about }: HTTPExchange): Promise<void> {
    const wait = sleep(this.#clock, ms, closed);
    await (this.#clock === systemClock || about.verb === 'watch' ? wait : this.inFlight.holding(wait));
  }
}

function whenAborted(signal: AbortSignalLike): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', resolve);
  });
}
