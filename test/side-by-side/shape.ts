import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Json } from '../support/kube-http.ts';
import { namespace } from '../support/node/cluster.ts';
import { nodeName } from '../support/node/machine.ts';
import type { Disturbance, ShapeNode } from '../support/node/node-under-test.ts';
import { signal } from '../support/node/processes.ts';
import type { PodPredicate, Recorder, UntilOptions } from './recorder.ts';
import type { PodEvent } from './recording.ts';

/** A pod, and what happens to it. */
export interface Shape {
  /** Also the name of its pod. */
  readonly name: string;
  readonly run: (run: ShapeRun) => Promise<void>;
  /** Names of the pods that are compared, where that is not the shape's. */
  readonly pods?: readonly string[];
  /** Shapes of one disturbance run at the same time and go through it together, after all others. */
  readonly disturbance?: Disturbance;
  /** Runs alone. */
  readonly exclusive?: boolean;
}

export type Disturbed = (whileAway?: () => Promise<unknown>) => Promise<void>;

/** One run of a shape on one agent: what its steps may do. All waits are for what a watcher sees. */
export class ShapeRun {
  readonly name: string;
  readonly node: ShapeNode;
  readonly sleep = sleep;
  readonly #recorder: Recorder;
  readonly #disturbed: Disturbed;

  constructor(shape: Shape, node: ShapeNode, recorder: Recorder, disturbed: Disturbed) {
    this.name = shape.name;
    this.node = node;
    this.#recorder = recorder;
    this.#disturbed = disturbed;
  }

  /** Creates a pod on the node, with a grace period of 3 s and without a service account token unless the spec says so. */
  create(spec: Json, metadata: Json = {}): Promise<Json> {
    return this.api('POST', 'pods', {
      metadata: { name: this.name, ...metadata },
      spec: { nodeName, automountServiceAccountToken: false, terminationGracePeriodSeconds: 3, ...spec },
    });
  }

  /** A request for the namespace's resources: `pods/NAME/resize`. */
  api(method: string, path: string, body?: object, contentType?: string): Promise<Json> {
    return this.node.cluster.request(method, `/api/v1/namespaces/${namespace}/${path}`, body, contentType);
  }

  patch(body: object, subresource = ''): Promise<Json> {
    return this.api('PATCH', `pods/${this.name}${subresource}`, body, 'application/strategic-merge-patch+json');
  }

  until(what: string, matches: PodPredicate, options: UntilOptions & { pod?: string } = {}): Promise<PodEvent> {
    return this.#recorder.until(options.pod ?? this.name, what, matches, options);
  }

  untilEvent(reason: string): Promise<void> {
    return this.#recorder.untilEvent(this.name, reason);
  }

  untilReady(pod = this.name): Promise<PodEvent> {
    return this.until('ready', isReady, { pod });
  }

  untilEnded(): Promise<PodEvent> {
    return this.until('Succeeded or Failed', ({ status }) => ['Succeeded', 'Failed'].includes(status?.phase));
  }

  untilGone(pod = this.name): Promise<PodEvent> {
    return this.until('gone', (_, type) => type === 'DELETED', { pod });
  }

  /** As the last watch event showed it. */
  latest(): Json {
    return this.#recorder.podEventsOf(this.name).at(-1)?.object;
  }

  /** A short while in which nothing more may happen, then DELETE. */
  async end(pod = this.name): Promise<void> {
    await sleep(700);
    await this.api('DELETE', `pods/${pod}`);
    await this.untilGone(pod);
  }

  /** Waits until all shapes of the disturbance are here, and it is over. `whileAway` is called while no agent runs. */
  disturbed(whileAway?: () => Promise<unknown>): Promise<void> {
    return this.#disturbed(whileAway);
  }

  /** The UID of a static pod is a hash of its manifest: with the time in it, no earlier run had this pod. */
  writeStaticPod(pod: Json): void {
    mkdirSync(this.node.agent.staticPods, { recursive: true });
    const manifest = { apiVersion: 'v1', kind: 'Pod', ...pod };
    manifest.metadata = { namespace, annotations: { writtenAt: new Date().toISOString() }, ...pod.metadata };
    writeFileSync(join(this.node.agent.staticPods, `${this.name}.json`), JSON.stringify(manifest));
  }

  removeStaticPod(): void {
    rmSync(join(this.node.agent.staticPods, `${this.name}.json`), { force: true });
  }

  /** Kills the processes of containers whose command contains a text; one may end with another. */
  killContainer(text: string): void {
    for (const pid of this.node.machine.containerProcesses(text)) signal(pid, 'SIGKILL');
  }
}

export const isReady: PodPredicate = ({ status }) =>
  status?.conditions?.some((condition: Json) => condition.type === 'Ready' && condition.status === 'True') ?? false;

/** The status of a container of any kind. */
export function containerOf({ status }: Json, name = 'app'): Json {
  const { initContainerStatuses = [], containerStatuses = [], ephemeralContainerStatuses = [] } = status ?? {};
  return [...initContainerStatuses, ...containerStatuses, ...ephemeralContainerStatuses].find(
    (container: Json) => container.name === name,
  );
}

export const hasRestarted =
  (times = 1, name = 'app'): PodPredicate =>
  (pod) =>
    (containerOf(pod, name)?.restartCount ?? 0) >= times;

export const isWaiting =
  (reason: string, name = 'app'): PodPredicate =>
  (pod) =>
    containerOf(pod, name)?.state?.waiting?.reason === reason;

export const busybox = 'docker.io/library/busybox:1';
export const agnhost = 'registry.k8s.io/e2e-test-images/agnhost:2.66.1';
export const pause = 'registry.k8s.io/pause:3.10.2';

export const sh = (script: string): string[] => ['sh', '-c', script];

/** Runs until SIGTERM, and then ends with 0. */
export const forever = 'trap "exit 0" TERM; while :; do sleep 1 & wait $!; done';
/** Ignores SIGTERM. */
export const stubborn = 'trap "" TERM; while :; do sleep 1; done';

/** A container named `app` that runs a shell script. */
export function app(script: string, more: Json = {}): Json {
  return { name: 'app', image: busybox, command: sh(script), ...more };
}
