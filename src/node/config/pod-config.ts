import omit from 'lodash/omit.js';
import type { Clock } from '../../shared/clock.ts';
import { refuseArgument, StatusManagerError } from '../../shared/errors.ts';
import { FailureLog } from '../../shared/failure-log.ts';
import { requirePod } from '../../kube/pods/require-pod.ts';
import { plainCopy } from '../../shared/plain-data.ts';
import { requireIterable } from '../../shared/validate.ts';
import { configMirrorAnnotation, getPodFullName } from '../../kube/pods/static-pods.ts';
import { type Logger, reasonOf } from '../../shared/logger.ts';
import type { Pod, ValidPod } from '../../kube/objects/types.ts';
import { preciseTimeFromEpochMs } from '../../shared/time.ts';
import type { EventRecorder } from '../events/event-recorder.ts';
import { formatPod, podFieldsOf } from '../../kube/pods/pod-log-fields.ts';
import {
  checkAndUpdatePod,
  configSeenAnnotation,
  configSourceAnnotation,
  withAnnotations,
} from './check-and-update-pod.ts';
import { apiSourceName, type PodSink } from './pod-source.ts';

/**
 * What happened to pods:
 * - `ADD`: they are new.
 * - `UPDATE`: spec, labels or annotations changed.
 * - `DELETE`: their deletionTimestamp or grace period changed, so they must be terminated gracefully.
 * - `REMOVE`: their source no longer has them.
 * - `RECONCILE`: only their status changed.
 *
 * Source: kubelet `PodOperation`.
 */
export type PodOperation = 'ADD' | 'UPDATE' | 'DELETE' | 'REMOVE' | 'RECONCILE';

/** Source: kubelet `kubetypes.PodUpdate`. */
export interface PodConfigUpdate {
  readonly op: PodOperation;
  /** The name of the source. */
  readonly source: string;
  readonly pods: readonly ValidPod[];
}

/** Options of `PodConfig`. */
export interface PodConfigOptions {
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>;
  readonly logger: Logger;
  /** Called synchronously for each change, in order. Errors that it throws are logged. */
  readonly onUpdate: (update: PodConfigUpdate) => void;
  readonly eventRecorder: EventRecorder;
}

/**
 * The maximum number of pods of a source. It does not apply to the API server, because anyone who may create pods there
 * could then have its list refused.
 */
const maxSourcePods = 10_000;

/** A pod that a source has passed. */
interface GivenPod {
  readonly object: Pod;
  /** Its copy, or what was passed on for it. */
  readonly candidate: ValidPod;
}

interface Source {
  /** By UID: the pods as they were last passed on. */
  pods: ReadonlyMap<string, ValidPod>;
  /** For each object of the source, what was passed on for it: the same object again means no change. */
  readonly passedOn: WeakMap<Pod, ValidPod>;
  /** True once the first list of the source has been passed on. */
  isReady: boolean;
  /** Pods that were ignored and reported, because another one has their name or UID. */
  ignored: ReadonlySet<string>;
  /** Lists that were refused. */
  readonly refusals: FailureLog;
}

/**
 * Merges the pods of all sources and reports what changed. Pods of different sources are different pods,
 * even if they have the same name. Pods are never mutated after they were passed on.
 * Source: kubelet `PodConfig`, `podStorage`.
 *
 * Divergence: the annotation `kubernetes.io/config.seen` has milliseconds, not nanoseconds. If two pods have the same
 * UID or name, the second is ignored; the kubelet merges pods with the same UID. An ignored pod is reported once, not
 * at every update of the source.
 */
export class PodConfig {
  readonly #options: PodConfigOptions;
  readonly #sources = new Map<string, Source>();

  constructor(options: PodConfigOptions) {
    this.#options = options;
  }

  /**
   * Registers a source. The sink copies each pod, so that later changes by the source have no effect, except those that
   * the informer has frozen. It throws StatusManagerError INVALID_ARGUMENT for an invalid list, or one with too many pods;
   * the earlier pods then stay.
   */
  channel(name: string): PodSink {
    const { clock, logger } = this.#options;
    const source: Source = this.#sources.get(name) ?? {
      pods: new Map(),
      passedOn: new WeakMap(),
      ignored: new Set(),
      isReady: false,
      refusals: new FailureLog({
        ...{ clock, logger, fields: { source: name } },
        what: {
          failed: 'The pods of a source are refused; its earlier pods stay',
          recovered: 'The pods of a source are accepted again',
        },
      }),
    };
    this.#sources.set(name, source);
    return (pods, unchanged = new Set()) => {
      const given: GivenPod[] = [];
      try {
        requireIterable('pods', pods);
        for (const pod of pods) {
          if (given.length === maxSourcePods && name !== apiSourceName)
            refuseArgument('pods', `at most ${maxSourcePods} pods`, pods);
          const candidate = source.passedOn.get(pod) ?? readPod(pod, `pods[${given.length}]`, name);
          given.push({ object: pod, candidate });
        }
      } catch (thrown) {
        source.refusals.failed(thrown);
        throw thrown;
      }
      source.refusals.succeeded();
      this.#merge(name, source, given, unchanged);
    };
  }

  #merge(name: string, source: Source, given: readonly GivenPod[], unchanged: ReadonlySet<string>): void {
    const changed: Record<PodOperation, ValidPod[]> = { REMOVE: [], ADD: [], UPDATE: [], DELETE: [], RECONCILE: [] };
    const pods = new Map<string, ValidPod>();
    for (const { object, candidate } of this.#withoutDuplicates(given, name, source)) {
      const uid = candidate.metadata.uid;
      const existing = source.pods.get(uid);
      const { pod, op } =
        existing === candidate ? { pod: existing, op: undefined } : this.#check(existing, candidate, name);
      pods.set(uid, pod);
      if (pod !== candidate) source.passedOn.set(object, pod);
      if (op !== undefined) changed[op].push(pod);
    }
    for (const uid of unchanged) {
      const existing = source.pods.get(uid);
      if (existing !== undefined) pods.set(uid, existing);
    }
    for (const [uid, pod] of source.pods) if (!pods.has(uid)) changed.REMOVE.push(pod);
    source.pods = pods;

    for (const op of ['REMOVE', 'ADD', 'UPDATE', 'DELETE', 'RECONCILE'] as const) {
      // The first list is passed on even if it is empty, because it marks the source as ready.
      if (changed[op].length > 0 || (op === 'ADD' && !source.isReady))
        this.#send({ op, source: name, pods: changed[op] });
    }
    source.isReady = true;
  }

  #check(
    existing: ValidPod | undefined,
    candidate: ValidPod,
    source: string,
  ): { readonly pod: ValidPod; readonly op: PodOperation | undefined } {
    const annotated = withAnnotations(fromSource(candidate, source), { [configSourceAnnotation]: source });
    if (existing !== undefined) return checkAndUpdatePod(existing, annotated);
    const seenAt = preciseTimeFromEpochMs(this.#options.clock.now());
    return { pod: withAnnotations(annotated, { [configSeenAnnotation]: seenAt }), op: 'ADD' };
  }

  /** Source: kubelet `filterInvalidPods`. */
  #withoutDuplicates(given: readonly GivenPod[], sourceName: string, source: Source): readonly GivenPod[] {
    if (isEachKnown(given, source.pods)) {
      source.ignored = new Set();
      return given;
    }
    const { eventRecorder, logger } = this.#options;
    const fullNames = new Set<string>();
    const uids = new Set<string>();
    const ignored = new Set<string>();
    const distinct = given.filter(({ candidate: pod }) => {
      const fullName = getPodFullName(pod);
      const { name, uid } = pod.metadata;
      const duplicate = fullNames.has(fullName) ? `name "${name}"` : uids.has(uid) ? `UID "${uid}"` : undefined;
      if (duplicate === undefined) {
        fullNames.add(fullName);
        uids.add(uid);
        return true;
      }
      const key = `${fullName} ${uid}`;
      ignored.add(key);
      if (source.ignored.has(key)) return false;
      const shared = fullNames.has(fullName) ? 'name' : 'UID';
      logger.warn(
        { ...podFieldsOf(pod), source: sourceName },
        `Ignoring pod: its source has another pod with the same ${shared}`,
      );
      const message = `Error validating pod ${formatPod(pod)} from ${sourceName} due to duplicate pod ${duplicate}, ignoring`;
      eventRecorder.event({ pod, type: 'Warning', reason: 'FailedValidation', message });
      return false;
    });
    source.ignored = ignored;
    return distinct;
  }

  #send(update: PodConfigUpdate): void {
    try {
      this.#options.onUpdate(update);
    } catch (thrown) {
      const { op, source } = update;
      this.#options.logger.error({ op, source, reason: reasonOf(thrown) }, 'onUpdate failed');
    }
  }
}

/** Pods that have kept UID and name are as distinct as they were. For each event of a watch, so it builds no names. */
function isEachKnown(given: readonly GivenPod[], known: Source['pods']): boolean {
  const uids = new Set(given.map(({ candidate }) => candidate.metadata.uid));
  if (uids.size < given.length) return false;
  return given.every(({ candidate }) => {
    const existing = known.get(candidate.metadata.uid);
    return existing === candidate || (existing !== undefined && hasSameName(existing, candidate));
  });
}

function hasSameName({ metadata: a }: ValidPod, { metadata: b }: ValidPod): boolean {
  return a.name === b.name && a.namespace === b.namespace;
}

/** @throws StatusManagerError INVALID_ARGUMENT */
function readPod(pod: unknown, path: string, source: string): ValidPod {
  let copy = pod;
  try {
    // The informer's pods are parsed JSON, frozen with all their fields.
    if (source !== apiSourceName || !Object.isFrozen(pod)) copy = plainCopy(pod, path);
  } catch (thrown) {
    throw new StatusManagerError('INVALID_ARGUMENT', reasonOf(thrown), { path });
  }
  requirePod(copy, path);
  return copy;
}

/**
 * Removes what a manifest contains that was copied from an API server: with the resourceVersion, the pod would count as one
 * of the API server, and with the annotation, as a mirror pod, which never runs.
 */
function fromSource(pod: ValidPod, source: string): ValidPod {
  if (source === apiSourceName) return pod;
  const { resourceVersion: _, annotations, ...metadata } = pod.metadata;
  return { ...pod, metadata: { ...metadata, annotations: omit(annotations, configMirrorAnnotation) } };
}
