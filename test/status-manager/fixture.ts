import type { StatusManagerOptions } from '../../src/status-manager/options.ts';
import { BasicPodManager } from '../../src/kube/pod-manager/basic-pod-manager.ts';
import { StatusManager } from '../../src/status-manager/status-manager.ts';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import { FakePodClient } from '../../src/testing/fake-pod-client.ts';
import type {
  ObjectMeta,
  Pod,
  PodCondition,
  PodSpec,
  PodStatus,
  PodStatusInput,
} from '../../src/kube/objects/types.ts';
import { type LoggedLine, recordingLogger } from '../../src/testing/recording-logger.ts';
import { RecordingMetrics } from '../../src/testing/recording-metrics.ts';

export const testPodUID = '12345678';
export const startTime = '2026-01-02T03:04:05Z';

export interface TestPodParts {
  readonly metadata?: ObjectMeta;
  readonly spec?: PodSpec;
  readonly status?: PodStatusInput;
}

/** A pod `new/foo`; a new object each time. */
export function getTestPod({ metadata, spec, status }: TestPodParts = {}): Pod {
  return {
    metadata: { uid: testPodUID, name: 'foo', namespace: 'new', ...metadata },
    spec: spec ?? {},
    status: status ?? {},
  };
}

/** A static pod and its mirror. */
export function getStaticPod(): { staticPod: Pod; mirrorPod: Pod } {
  return {
    staticPod: getTestPod({ metadata: { annotations: { 'kubernetes.io/config.source': 'file' } } }),
    mirrorPod: getTestPod({
      metadata: {
        uid: 'mirror-12345678',
        annotations: { 'kubernetes.io/config.source': 'api', 'kubernetes.io/config.mirror': 'mirror' },
      },
    }),
  };
}

export class TestManager {
  readonly clock = new FakeClock(startTime);
  readonly client: FakePodClient;
  readonly podManager = new BasicPodManager();
  readonly metrics = new RecordingMetrics();
  readonly logger = recordingLogger();
  readonly manager: StatusManager;
  #messages = 0;

  /** @param onServer the pods that the API server has */
  constructor(onServer: readonly Pod[] = [], options: Partial<StatusManagerOptions<BasicPodManager>> = {}) {
    this.client = new FakePodClient(onServer);
    this.manager = new StatusManager({
      client: this.client,
      podManager: this.podManager,
      podCouldHaveRunningContainers: () => false,
      clock: this.clock,
      metrics: this.metrics,
      logger: this.logger,
      ...options,
    });
  }

  get logged(): readonly LoggedLine[] {
    return this.logger.lines;
  }

  /** A status that differs from all others of this manager. */
  newStatus(fields: PodStatusInput = {}): PodStatusInput {
    return { message: `message ${this.#messages++}`, ...fields };
  }

  /** The cached status, which must be there. */
  status(uid = testPodUID): PodStatus {
    const status = this.manager.getPodStatus(uid);
    if (status === undefined) throw new Error(`no status of ${uid}`);
    return status;
  }

  condition(type: string): PodCondition | undefined {
    return this.status().conditions?.find((condition) => condition.type === type);
  }

  version(uid = testPodUID): number | undefined {
    return this.manager.inspect().pods.find(({ podUID }) => podUID === uid)?.version;
  }

  /** Runs incremental batches while a wake-up waits; how many syncs were tried. kubelet: `consumeUpdates`. */
  async consumeUpdates(): Promise<number> {
    let updates = 0;
    while (this.manager.inspect().isWakeUpWaiting) updates += (await this.manager.syncBatch(false)).tried;
    return updates;
  }

  /** Consumes updates; the verbs of all requests since the last call. kubelet: `verifyActions`. */
  async takeActions(): Promise<string[]> {
    await this.consumeUpdates();
    return this.client.actions.splice(0).map(({ verb }) => verb);
  }

  /** A full batch after the pod manager has seen what is cached, so that nothing is reconciled. */
  async syncBatchWithoutReconcile(): Promise<number> {
    for (const { podUID } of this.manager.inspect().pods) {
      const pod = this.podManager.getPodByUID(podUID);
      const mirror = pod && this.podManager.getMirrorPodByPod(pod);
      for (const seen of [pod, mirror])
        if (seen !== undefined) this.podManager.updatePod({ ...seen, status: this.status(podUID) });
    }
    return (await this.manager.syncBatch(true)).tried;
  }
}
