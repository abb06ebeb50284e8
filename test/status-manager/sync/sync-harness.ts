import type { StatusManagerOptions } from '../../../src/status-manager/options.ts';
import { BasicPodManager } from '../../../src/kube/pod-manager/basic-pod-manager.ts';
import type { PodInspection } from '../../../src/status-manager/inspection.ts';
import { StatusManager } from '../../../src/status-manager/status-manager.ts';
import type { StatusOutcome } from '../../../src/status-manager/sync/status-outcome.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';
import { FakePodClient, type FakeAction, type FakeVerb } from '../../../src/testing/fake-pod-client.ts';
import type { ObjectMeta, Pod, PodStatusInput } from '../../../src/kube/objects/types.ts';
import { type RecordingLogger, recordingLogger } from '../../../src/testing/recording-logger.ts';
import { RecordingMetrics } from '../../../src/testing/recording-metrics.ts';

export const namespace = 'default';

/** The pod of this name, with UID `uid-NAME`. */
export function podOf(name: string, metadata: ObjectMeta = {}): Pod {
  return {
    metadata: { namespace, name, uid: `uid-${name}`, generation: 1, ...metadata },
    spec: { containers: [{ name: 'app' }] },
    status: { phase: 'Pending' },
  };
}

export function uidOf(name: string): string {
  return `uid-${name}`;
}

/** A manager between a fake clock, a fake API server and recorders of all that it says. */
export class SyncHarness {
  readonly clock = new FakeClock('2026-01-02T03:04:05Z');
  readonly client = new FakePodClient();
  readonly podManager = new BasicPodManager();
  readonly metrics = new RecordingMetrics();
  readonly logger: RecordingLogger = recordingLogger();
  readonly outcomes: StatusOutcome[] = [];
  readonly manager: StatusManager;
  /** Every request, with the monotonic time at which it was made. */
  readonly times: { readonly action: FakeAction; readonly ms: number }[] = [];

  constructor(options: Partial<Omit<StatusManagerOptions, 'podManager'>> = {}) {
    const {
      podCouldHaveRunningContainers = () => false,
      podDeletionSafety = { podCouldHaveRunningContainers },
      ...others
    } = options;
    this.manager = new StatusManager({
      client: this.client,
      podManager: this.podManager,
      podDeletionSafety,
      clock: this.clock,
      logger: this.logger,
      metrics: this.metrics,
      random: () => 0,
      ...others,
    });
    this.client.react(
      {},
      (action) => void this.times.push({ action, ms: this.clock.monotonicMs() }),
      Number.POSITIVE_INFINITY,
    );
    this.manager.subscribe({ onOutcome: (outcome) => void this.outcomes.push(outcome) });
  }

  /** Updates the pod manager immediately with every write of ours, as a watch would. */
  informed(): this {
    this.client.react(
      {},
      ({ name }) =>
        () =>
          this.observe(name),
      Number.POSITIVE_INFINITY,
    );
    return this;
  }

  /** The pod manager sees what the API server has. */
  observe(name: string): void {
    const pod = this.client.pod(namespace, name);
    if (pod !== undefined) this.podManager.updatePod(structuredClone(pod));
  }

  /** Pods that both the API server and the pod manager know. */
  addPods(...names: readonly string[]): Pod[] {
    return names.map((name) => this.addPod(podOf(name)));
  }

  addPod(pod: Pod): Pod {
    this.client.put(pod);
    this.podManager.addPod(pod);
    return pod;
  }

  /** Sets a status that differs by its message alone; routine unless `fields` say otherwise. */
  set(name: string, message: string, fields: PodStatusInput = {}): void {
    const pod = this.podManager.getPodByUID(uidOf(name)) ?? podOf(name);
    this.manager.setPodStatus(pod, { phase: 'Running', message, ...fields });
  }

  /** Lets the loop do all it can at this moment. */
  settle(): Promise<void> {
    return this.clock.advanceAsync(0);
  }

  /** The message that the API server has of this pod. */
  written(name: string): string | undefined {
    return this.client.pod(namespace, name)?.status?.message ?? undefined;
  }

  /** Requests since the last call: `verb name`. */
  takeRequests(): string[] {
    return this.client.actions.splice(0).map(({ verb, name }) => `${verb} ${name}`);
  }

  count(verb?: FakeVerb): number {
    return verb === undefined ? this.client.actions.length : this.client.actionsOf({ verb }).length;
  }

  inspect(name: string): PodInspection {
    const found = this.manager.inspect().pods.find(({ podUID }) => podUID === uidOf(name));
    if (found === undefined) throw new Error(`no status of ${name}`);
    return found;
  }

  /** Kinds of outcomes since the last call: `outcome version`. */
  takeOutcomes(): string[] {
    return this.outcomes.splice(0).map(({ outcome, version }) => `${outcome} ${version}`);
  }
}

export const conditions = {
  ready: [{ type: 'Ready', status: 'True' }],
  unready: [{ type: 'Ready', status: 'False' }],
} as const;
