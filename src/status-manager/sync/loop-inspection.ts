import type { APIOutage, OutageInspection } from './api-outage.ts';
import type { BackOffEntry } from './back-off.ts';
import type { PodRequests } from './pod-requests.ts';
import type { HotLoop, ResendDetector } from './resend-detector.ts';
import type { RequestedDeletion } from './terminating-pods.ts';
import { uidsThatMayWait, type WaitingFor, waitingFor, type WaitingForSources } from './waiting-for.ts';
import type { WakeUp } from './wake-up.ts';

export interface LoopInspectionSources extends WaitingForSources {
  readonly apiOutage: APIOutage;
  readonly wakeUp: WakeUp;
  readonly requests: PodRequests;
  readonly resendDetector: ResendDetector;
}

/** What `inspect()` and the metrics read of a loop. It makes no request and changes nothing. */
export class LoopInspection {
  readonly #sources: LoopInspectionSources;

  constructor(sources: LoopInspectionSources) {
    this.#sources = sources;
  }

  get isWakeUpWaiting(): boolean {
    return this.#sources.wakeUp.isWaiting;
  }

  /** Undefined while the API server processes requests. */
  get outage(): OutageInspection | undefined {
    return this.#sources.apiOutage.inspect();
  }

  /** When a request last succeeded, in ms since the epoch. */
  get lastSuccess(): number | undefined {
    return this.#sources.requests.lastSuccess;
  }

  isInFlight(uid: string): boolean {
    return this.#sources.inFlight.has(uid);
  }

  /** Why and until when the pod waits after a failure; undefined when nothing failed. */
  backOffOf(uid: string): BackOffEntry | undefined {
    return this.#sources.backOff.get(uid);
  }

  /** Undefined when nobody undoes what is written. */
  hotLoopOf(uid: string): HotLoop | undefined {
    return this.#sources.resendDetector.hotLoopOf(uid);
  }

  /** What the pod waits for; undefined when nothing is to be done for it. */
  waitingFor(uid: string, nowMs: number): WaitingFor | undefined {
    return waitingFor(uid, this.#sources, nowMs);
  }

  /** All pods for which `waitingFor` may return something. */
  uidsThatMayWait(): Set<string> {
    return uidsThatMayWait(this.#sources);
  }

  /** Pods that finalizers keep; they have no cached status any more. */
  requestedDeletions(): RequestedDeletion[] {
    return this.#sources.terminatingPods.requestedDeletions();
  }
}
