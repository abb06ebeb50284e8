import { randomUUID } from 'node:crypto';
import {
  boundedRuntime,
  type ContainerConfig,
  type ContainerRuntime,
  hashContainer,
  type RuntimeContainerStatus,
  type RuntimeEvent,
  type RuntimePod,
} from '../../node/index.ts';
import type { Container, PodSpec, ValidPod } from '../../kube/objects/types.ts';
import type { JSONObject } from '../../kube/objects/json-object.ts';
import { withPodSpecDefaults } from '../../kube/pods/pod-defaults.ts';
import type { Clock } from '../../shared/clock.ts';
import { type CallOutcome, outcomeOf, pollUntil, seenIn } from '../call-outcome.ts';
import { type RuleResults, show } from '../rule-results.ts';
import { checkCreated, checkListed, checkSandbox } from './check-statuses.ts';
import type { RuntimeRule } from './runtime-rules.ts';

const pollMs = 20;
/** An error of grpc-js begins like this. */
const grpcPrefix = /^\d+ [A-Z_]+: /;

/** A pod of the checklist, with its sandbox. */
export interface PodUnderCheck {
  readonly pod: ValidPod;
  readonly sandboxID: string | undefined;
}

export interface CheckedRuntimeOptions {
  readonly results: RuleResults<RuntimeRule>;
  readonly podSpec: PodSpec;
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/** Creates pods and containers in a runtime, checks what it shows of them, and removes them. */
export class CheckedRuntime {
  /** The runtime itself: its calls have no time-out, and only it reacts to their signals. */
  raw!: ContainerRuntime;
  /** The runtime as the agent uses it. */
  bounded!: ContainerRuntime;
  readonly #options: CheckedRuntimeOptions;
  readonly #pods = new Set<ValidPod>();
  readonly #events: RuntimeEvent[] = [];
  #unsubscribe: (() => void) | undefined;

  constructor(runtime: ContainerRuntime, options: CheckedRuntimeOptions) {
    this.#options = options;
    this.#use(runtime);
  }

  /** `restart` resolves with the runtime that is used from now on. */
  async restart(restart: () => Promise<ContainerRuntime>): Promise<void> {
    this.#unsubscribe?.();
    this.#use(await restart());
  }

  async createPod(container: Container): Promise<PodUnderCheck> {
    const { podSpec, results, clock } = this.#options;
    const uid = randomUUID();
    const metadata = { name: `check-${uid.slice(0, 8)}`, namespace: 'default', uid };
    const spec = { restartPolicy: 'Never', ...podSpec, containers: [container] };
    // As the API server would give it.
    const pod: ValidPod = { metadata, spec: withPodSpecDefaults(structuredClone(spec) as object as JSONObject) };
    this.#pods.add(pod);
    await this.bounded.preparePod?.(pod);
    const config = { pod, attempt: 0 };
    const sandboxID = await this.bounded.runPodSandbox?.(config);
    if (sandboxID !== undefined) {
      const { sandboxes = [] } = (await this.podOf(pod)) ?? {};
      const sandbox = sandboxes.find(({ id }) => id === sandboxID);
      checkSandbox(results, sandbox, config, clock.now());
    }
    return { pod, sandboxID };
  }

  /** Creates the container of the pod and checks what is shown of it. */
  async create({ pod, sandboxID }: PodUnderCheck, attempt = 0): Promise<string> {
    const { results, clock } = this.#options;
    const container = pod.spec!.containers![0]!;
    const config: ContainerConfig = {
      ...{ pod, container, attempt, hash: hashContainer(container), sandboxID },
      imageRef: await this.#pull(container, pod),
      podIPs: await this.#addressesOf(pod),
    };
    const id = await this.bounded.createContainer(config);
    results.check('container-id', /^[a-z0-9.-]+:\/\/\S+$/.test(id), `The ID is ${show(id)}`);
    const status = await this.statusOf(pod, id);
    results.check('created-visible', status !== undefined, `getPod does not show ${id}`);
    if (status !== undefined) checkCreated(results, status, config, clock.now());
    checkListed(results, await this.bounded.listPods(), await this.podOf(pod));
    return id;
  }

  async podOf({ metadata }: ValidPod): Promise<RuntimePod | undefined> {
    return this.bounded.getPod(metadata.uid);
  }

  async statusOf(pod: ValidPod, id: string): Promise<RuntimeContainerStatus | undefined> {
    return (await this.podOf(pod))?.containers.find((container) => container.id === id);
  }

  /** The status as soon as the container has exited, or when the time is over. */
  async whenExited(pod: ValidPod, id: string): Promise<RuntimeContainerStatus | undefined> {
    let status: RuntimeContainerStatus | undefined;
    await pollUntil(
      { ...this.#options, pollMs },
      async () => (status = await this.statusOf(pod, id))?.state === 'exited',
    );
    this.#options.results.check('exit-observed', status?.state === 'exited', `The state stays ${show(status?.state)}`);
    return status;
  }

  async checkExitEvent({ metadata }: ValidPod, id: string): Promise<void> {
    if (this.raw.subscribe === undefined) return;
    const isReported = (): boolean =>
      this.#events.some(
        ({ type, podUID, containerID }) => type === 'stopped' && podUID === metadata.uid && containerID === id,
      );
    await pollUntil({ ...this.#options, pollMs }, async () => isReported());
    this.#options.results.check('exit-event', isReported(), `No event that ${id} has stopped`);
  }

  /** Calls a method of `raw`, and waits for its end until the time is over. */
  async outcomeOf(call: () => Promise<unknown>): Promise<CallOutcome> {
    const outcome = await outcomeOf(this.#options, call);
    if (outcome.state === 'rejected') this.checkMessage(outcome.message);
    return outcome;
  }

  checkMessage(message: string): void {
    this.#options.results.check(
      'error-messages',
      !grpcPrefix.test(message),
      `An error has the message ${show(message)}`,
    );
  }

  /** Calls twice. */
  async repeat(method: string, call: () => Promise<unknown>): Promise<void> {
    await call();
    const outcome = await this.outcomeOf(call);
    const seen = seenIn(outcome);
    this.#options.results.check('repeatable', outcome.state === 'resolved', `${method}, called again: ${seen}`);
  }

  /** Removes the pod as the agent does, and checks that nothing is left of it. */
  async removePod(pod: ValidPod): Promise<void> {
    this.#pods.delete(pod);
    const { containers = [], sandboxes = [] } = (await this.podOf(pod)) ?? {};
    for (const { id } of containers) await this.repeat('removeContainer', () => this.bounded.removeContainer(id));
    for (const { id } of sandboxes) {
      await this.repeat('stopPodSandbox', async () => this.bounded.stopPodSandbox?.(id));
      await this.repeat('removePodSandbox', async () => this.bounded.removePodSandbox?.(id));
    }
    await this.repeat('releasePod', async () => this.bounded.releasePod?.(pod));
    const left = await this.podOf(pod);
    this.#options.results.check('runs-removed', left === undefined, `getPod still shows ${show(left)}`);
  }

  /** Ends the subscription, and removes the pods of checks that have failed. */
  async close(): Promise<void> {
    const { results } = this.#options;
    this.#unsubscribe?.();
    const received = this.#events.length;
    for (const pod of this.#pods) await this.removePod(pod);
    if (this.#unsubscribe !== undefined)
      results.check('unsubscribe', this.#events.length === received, `${this.#events.length - received} more events`);
    this.#unsubscribe = undefined;
  }

  #use(runtime: ContainerRuntime): void {
    const { clock, timeoutMs } = this.#options;
    const { signal: never } = new AbortController();
    this.raw = runtime;
    this.bounded = boundedRuntime(runtime, { clock, requestTimeoutMs: timeoutMs, signal: never });
    this.#unsubscribe = runtime.subscribe?.((event) => void this.#events.push(event));
  }

  async #pull({ image = '' }: Container, pod: ValidPod): Promise<string | undefined> {
    const { bounded: runtime } = this;
    if (runtime.imageRef === undefined || runtime.pullImage === undefined || image === '') return undefined;
    const missing = await runtime.imageRef(`localhost/check-${randomUUID()}:1`, { pod });
    this.#options.results.check(
      'image-ref',
      missing === undefined,
      `A missing image has the reference ${show(missing)}`,
    );
    const present = await runtime.imageRef(image, { pod });
    if (present !== undefined) return present;
    const pulled = await runtime.pullImage(image, pod);
    const isPresent = (await runtime.imageRef(image, { pod })) !== undefined;
    this.#options.results.check('image-ref', isPresent, 'An image that was pulled has no reference');
    return typeof pulled === 'string' ? pulled : pulled.imageRef;
  }

  async #addressesOf(pod: ValidPod): Promise<string[]> {
    const { sandboxes = [], ips = [] } = (await this.podOf(pod)) ?? {};
    const { ip, additionalIPs = [] } = sandboxes[0]?.network ?? {};
    return ip === undefined ? [...ips] : [ip, ...additionalIPs];
  }
}
