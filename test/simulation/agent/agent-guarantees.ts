import { hasLocalStorageLimit } from '../../../src/agent/eviction/local-storage-eviction.ts';
import type { Container, EphemeralContainer, ValidPod } from '../../../src/kube/objects/types.ts';
import type { Json } from '../../support/kube-http.ts';
import type { SimulatedCluster } from '../simulated-cluster.ts';
import type { World } from '../world.ts';
import { isMirror, isTerminal } from './check-statuses.ts';
import type { ContainerRun, ContainerRuns, ContainerWatcher } from './container-runs.ts';
import type { SimulatedVolumes } from './simulated-volumes.ts';
import type { RuntimeWatcher } from './watched-runtime.ts';

/** As of the classes system-cluster-critical and system-node-critical. */
const criticalPriority = 2_000_000_000;

/** Guarantees of an agent that are checked whenever it does something to a container or a pod. */
export class AgentGuarantees implements ContainerWatcher, RuntimeWatcher {
  /** Pods whose containers were changed, by UID. */
  readonly changed = new Set<string>();
  /** Pods that have lost their sandbox, by UID. */
  readonly lost = new Set<string>();
  /** Pods that an agent has preempted for a critical pod, by UID. */
  readonly #preempted = new Set<string>();
  /** Pods for which this agent has begun something, by UID. */
  readonly #begun = new Set<string>();
  runs: ContainerRuns | undefined;
  volumes: Pick<SimulatedVolumes, 'missing'> = { missing: () => undefined };
  /** An agent ends all pods, as when its machine shuts down. */
  isShuttingDown = false;
  /** Called when a container was started. */
  onStarted: ((run: ContainerRun) => void) | undefined;
  /** Called when a container has ended. */
  onEnded: ((run: ContainerRun) => void) | undefined;
  /** Called when an agent calls the runtime. */
  onCall: (() => void) | undefined;
  /** How often agents have called the runtime. */
  calls = 0;
  readonly #world: World;
  readonly #cluster: SimulatedCluster;
  /** By UID: the pods that have a terminal phase on the API server, or had. */
  readonly #ended = new Set<string>();

  constructor(world: World, cluster: SimulatedCluster) {
    this.#world = world;
    this.#cluster = cluster;
    cluster.onWrite = (pod) => {
      if (!isTerminal(pod)) return;
      this.#ended.add(pod.metadata.uid);
      if (this.runs !== undefined && !isMirror(pod)) this.#checkNothingRuns(pod, this.runs);
    };
  }

  called(): void {
    this.calls++;
    this.onCall?.();
  }

  /** A new agent, which has to admit all pods. */
  agentStarts(): void {
    this.#begun.clear();
  }

  /** An agent has begun something for a pod that has an effect. */
  began(what: string, pod: ValidPod, container?: Container | EphemeralContainer): void {
    const { metadata, spec } = pod;
    const { uid, name } = metadata;
    this.#begun.add(uid);
    if (this.#ended.has(uid)) this.#world.violate('no effect for a pod after its end', `${name} ${uid}: ${what}`);
    const missing = what === 'createContainer' ? this.volumes.missing(pod) : undefined;
    if (missing !== undefined)
      this.#world.violate('a container is created when the volumes are mounted', `${name} ${uid}: ${missing}`);
    if (container?.image?.startsWith('private') !== true) return;
    if ((spec as Json).imagePullSecrets === undefined)
      this.#world.violate('a private image is used only by those who may', `${name} ${uid} ${container.name}: ${what}`);
  }

  /** An agent preempts a pod to admit a critical one, or its resize. */
  preempting({ pod, podUID, criticalPod }: Json): void {
    const details = `${pod} ${podUID} for ${criticalPod}`;
    const had = (isWanted: (metadata: Json) => boolean): Json[] =>
      this.#cluster.history.flatMap(({ pod: version }) => (isWanted(version.metadata) ? [version] : []));
    const critical = had(({ namespace, name }) => `${namespace}/${name}` === criticalPod);
    // The API server may not have had a static pod yet.
    const isAdmitted = ({ metadata: { uid } }: Json): boolean => !this.#begun.has(uid) || this.changed.has(uid);
    if (critical.length > 0 && !critical.some((version) => isCritical(version) && isAdmitted(version)))
      this.#world.violate('a pod is preempted only to admit a critical one', details);
    const preempted = had(({ uid }) => uid === podUID);
    if (preempted.length === 0 || preempted.some(isCritical))
      this.#world.violate('a critical pod is not preempted', details);
    this.#preempted.add(podUID);
  }

  /** An agent stops a container that runs. */
  stopping({ podUID, podName, container, id }: ContainerRun): void {
    if (this.isShuttingDown) return;
    const pod = this.#cluster.pods.get(podName);
    if (pod === undefined || pod.metadata.uid !== podUID) return;
    if (pod.metadata.deletionTimestamp != null || isTerminal(pod)) return;
    if (this.changed.has(podUID) || this.lost.has(podUID) || this.#preempted.has(podUID) || this.runs?.unknown.has(id))
      return;
    if (hasLocalStorageLimit(pod)) return;
    const { containers, initContainers = [], activeDeadlineSeconds } = pod.spec;
    const spec = [...containers, ...initContainers].find(({ name }) => name === container);
    if (activeDeadlineSeconds !== undefined || spec === undefined) return;
    if (mayBeKilled(spec)) return;
    // Sidecars end with the others, and soon after these have been told to.
    const hasEnded = ({ name }: Json): boolean => {
      const runs = this.runs?.of({ podUID, container: name }) ?? [];
      return runs.length > 0 && runs.every(({ endedMs }) => endedMs !== undefined);
    };
    const isOver = (one: Json): boolean => mayBeKilled(one) || hasEnded(one);
    if (initContainers.includes(spec) && (containers.every(isOver) || initContainers.some(hasEnded))) return;
    this.#world.violate('a container is not stopped without a reason', `${podName} ${podUID} ${container} ${id}`);
  }

  started(run: ContainerRun): void {
    this.onStarted?.(run);
  }

  ended(run: ContainerRun): void {
    this.onEnded?.(run);
  }

  /** When a terminal phase is written, its containers have ended. */
  #checkNothingRuns(
    { metadata: { name = '', uid = '' } = {} }: { readonly metadata?: Json },
    runs: ContainerRuns,
  ): void {
    const running = runs.running(uid).map(({ identity }) => identity.id);
    if (running.length > 0)
      this.#world.violate('no terminal phase while containers run', `${name} ${uid}: ${running.join(', ')}`);
  }
}

/** A failed probe or hook kills a container. */
function mayBeKilled({ livenessProbe, startupProbe, lifecycle }: Json): boolean {
  return livenessProbe !== undefined || startupProbe !== undefined || lifecycle?.postStart !== undefined;
}

function isCritical(pod: Json): boolean {
  return isMirror(pod) || (pod.spec.priority ?? 0) >= criticalPriority;
}
