import { randomUUID } from 'node:crypto';
import { isIP } from 'node:net';
import type { Container, PodSpec, ValidPod } from '../../kube/objects/types.ts';
import type { JSONObject } from '../../kube/objects/json-object.ts';
import { withPodSpecDefaults } from '../../kube/pods/pod-defaults.ts';
import type { Clock } from '../../shared/clock.ts';
import { readProviderPods } from '../../virtual-nodes/calls/require-provider-pods.ts';
import type { PodMaterials } from '../../virtual-nodes/materials/pod-materials.ts';
import type {
  PodProvider,
  ProviderPod,
  ProviderPodOptions,
  ProviderPodReference,
} from '../../virtual-nodes/pod-provider.ts';
import { podHash } from '../../virtual-nodes/pods/pod-hash.ts';
import { type CallOutcome, outcomeOf, pollUntil, seenIn } from '../call-outcome.ts';
import { type RuleResults, show } from '../rule-results.ts';
import type { ProviderRule } from './provider-rules.ts';

/** A list of a cloud takes longer than one of a runtime. */
const pollMs = 100;
/** A time further away from now than this is not one of now. */
const maxAgeMs = 24 * 3_600_000;

export interface CheckedProviderOptions {
  readonly results: RuleResults<ProviderRule>;
  readonly nodeName: string;
  readonly podSpec: PodSpec;
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/** A call of the provider. */
type Call<T> = (provider: PodProvider, signal: AbortSignal) => Promise<T>;

/** Creates pods by a provider, checks what it shows of them, and deletes them. */
export class CheckedProvider {
  readonly results: RuleResults<ProviderRule>;
  readonly #options: CheckedProviderOptions;
  #provider: PodProvider;
  /** Given to each container as an environment variable; must be nowhere else. */
  readonly #secret = `secret-${randomUUID()}`;
  readonly #pods = new Set<ValidPod>();
  readonly #notified = new Map<string, ProviderPod>();
  #notifications = 0;
  #unsubscribe: (() => void) | undefined;

  constructor(provider: PodProvider, options: CheckedProviderOptions) {
    this.results = options.results;
    this.#options = options;
    this.#provider = provider;
    this.#subscribe();
  }

  get provider(): PodProvider {
    return this.#provider;
  }

  /** `restart` resolves with the provider that is used from now on. */
  async restart(restart: () => Promise<PodProvider>): Promise<void> {
    await this.unsubscribe();
    this.#provider = await restart();
    this.#subscribe();
  }

  /** A pod as the API server would give it, which the provider does not know yet. */
  newPod(container: Container, more: PodSpec = {}): ValidPod {
    const { nodeName, podSpec } = this.#options;
    const uid = randomUUID();
    const spec = { restartPolicy: 'Never', ...podSpec, ...more, nodeName, containers: [container] };
    return {
      metadata: { name: `check-${uid.slice(0, 8)}`, namespace: 'default', uid },
      spec: withPodSpecDefaults(structuredClone(spec) as object as JSONObject),
    };
  }

  /** Waits for the end of a call. What its message must not be is checked. */
  async outcomeOf<T>(call: Call<T>, signal: AbortSignal = new AbortController().signal): Promise<CallOutcome<T>> {
    const outcome = await outcomeOf(this.#options, () => call(this.#provider, signal));
    if (outcome.state !== 'rejected' || signal.aborted) return outcome;
    const { error, message } = outcome;
    const hasReason = error instanceof Error && message !== '' && message !== '[object Object]';
    this.results.check('errors', hasReason, `A call rejected with ${show(message)}`);
    this.#checkSecret(message, 'The message of an error');
    return outcome;
  }

  /** Makes a call that has to succeed. @throws Error if it does not */
  async call<T>(what: string, call: Call<T>): Promise<T> {
    const outcome = await this.outcomeOf(call);
    if (outcome.state === 'resolved') return outcome.value;
    throw new Error(`${what}: ${seenIn(outcome)}`);
  }

  /** Makes a call that has to succeed by one of the rules. */
  async expect(rule: ProviderRule, what: string, call: Call<unknown>): Promise<void> {
    const outcome = await this.outcomeOf(call);
    this.results.check(rule, outcome.state === 'resolved', `${what}: ${seenIn(outcome)}`);
  }

  /** Aborts a call soon after it has begun. */
  async expectAbort(what: string, call: Call<unknown>): Promise<void> {
    const controller = new AbortController();
    const outcome = this.outcomeOf(call, controller.signal);
    await this.#options.clock.yieldToEventLoop();
    controller.abort(new Error('The call is no longer needed'));
    const { state } = await outcome;
    this.results.check('abort-signals', state !== 'pending', `${what} was pending after its signal was aborted`);
  }

  /** The call that asks for the pod. */
  createCall(pod: ValidPod, restartCount = 0): Call<void> {
    this.#pods.add(pod);
    return (provider, signal) => provider.createPod(structuredClone(pod), this.#podOptions(pod, signal, restartCount));
  }

  updateCall(pod: ValidPod, previous: ValidPod | undefined): Call<void> {
    return async (provider, signal) => provider.updatePod?.(pod, previous, this.#podOptions(pod, signal));
  }

  deleteCall(pod: ValidPod, gracePeriodSeconds: number): Call<void> {
    return (provider, signal) => provider.deletePod(referenceOf(pod), { signal, epoch: 0, gracePeriodSeconds });
  }

  killCall(pod: ValidPod, restartCount: number, gracePeriodSeconds: number): Call<void> {
    const { name } = pod.spec!.containers![0]!;
    return async (provider, signal) =>
      provider.killContainer?.(referenceOf(pod), name, { signal, epoch: 0, restartCount, gracePeriodSeconds });
  }

  /** The entry of the pod as soon as it fits, or the last one when the time is over. */
  async podWhen(pod: ValidPod, fits: (entry: ProviderPod) => boolean): Promise<ProviderPod | undefined> {
    let entry: ProviderPod | undefined;
    await pollUntil({ ...this.#options, pollMs }, async () => {
      entry = await this.list(pod);
      return entry !== undefined && fits(entry);
    });
    this.results.check('listed', entry !== undefined, '`listPods` does not have the pod');
    if (entry !== undefined) this.#checkEntry(pod, entry);
    return entry;
  }

  /** The entry of the pod in `listPods`. */
  async list({ metadata: { uid } }: ValidPod): Promise<ProviderPod | undefined> {
    const listed = await this.call<unknown>('listPods', (provider, signal) => provider.listPods({ signal }));
    const { pods, invalid } = readProviderPods(listed);
    const twice = invalid.find((reason) => reason.includes('no other pod'));
    this.results.check('listed-once', twice === undefined, String(twice));
    const other = invalid.find((reason) => reason !== twice);
    this.results.check('valid-pods', other === undefined, String(other));
    return pods.find((pod) => pod.uid === uid);
  }

  /** Deletes the pod, as for the deletion of its object, and waits until it has ended. */
  async remove(pod: ValidPod, gracePeriodSeconds = 1): Promise<void> {
    this.#pods.delete(pod);
    await this.call('deletePod', this.deleteCall(pod, gracePeriodSeconds));
    await this.expect('delete-repeatable', '`deletePod`, called again', this.deleteCall(pod, gracePeriodSeconds));
    await this.expectEnd('delete-ends', pod, gracePeriodSeconds);
    await this.expect('delete-unknown', '`deletePod` of a pod that has ended', this.deleteCall(pod, 0));
  }

  async expectEnd(rule: ProviderRule, pod: ValidPod, gracePeriodSeconds: number): Promise<void> {
    let entry: ProviderPod | undefined;
    const { clock, timeoutMs } = this.#options;
    await pollUntil({ clock, timeoutMs: timeoutMs + gracePeriodSeconds * 1000, pollMs }, async () => {
      entry = await this.list(pod);
      return entry === undefined || entry.state === 'stopped';
    });
    const hasEnded = entry === undefined || entry.state === 'stopped';
    this.results.check(rule, hasEnded, `The deleted pod stays ${entry?.state}`);
  }

  async expectNotified(pod: ValidPod, state: ProviderPod['state']): Promise<void> {
    if (this.#unsubscribe === undefined) return;
    const { uid } = pod.metadata;
    await pollUntil({ ...this.#options, pollMs }, async () => this.#notified.get(uid)?.state === state);
    const notified = this.#notified.get(uid);
    this.results.check('notified', notified?.state === state, `The last notification has ${show(notified?.state)}`);
  }

  /** Ends the subscription, and checks that a change has no notification. */
  async unsubscribe(change = async (): Promise<void> => {}): Promise<void> {
    const isSubscribed = this.#unsubscribe !== undefined;
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    const before = this.#notifications;
    await change();
    const more = this.#notifications - before;
    if (isSubscribed) this.results.check('unsubscribe', more === 0, `There were ${more} more`);
  }

  /** Deletes what checks that have failed have left. */
  async close(): Promise<void> {
    await this.unsubscribe(async () => {
      for (const pod of this.#pods) await this.remove(pod);
    });
  }

  isNow(time: Date | undefined): boolean {
    return time !== undefined && Math.abs(this.#options.clock.now() - time.getTime()) < maxAgeMs;
  }

  #subscribe(): void {
    this.#unsubscribe = this.#provider.notifyPods?.(
      (pod) => {
        this.#notifications += 1;
        const { pods, invalid } = readProviderPods([pod]);
        this.results.check('valid-pods', invalid.length === 0, `In a notification, ${invalid[0]}`);
        for (const valid of pods) this.#notified.set(valid.uid, valid);
      },
      () => {},
    );
  }

  #podOptions(pod: ValidPod, signal: AbortSignal, restartCount = 0): ProviderPodOptions {
    const materials = async () => materialsOf(pod, this.#secret);
    return { signal, epoch: 0, podHash: podHash(pod), restartCount, materials };
  }

  #checkEntry(pod: ValidPod, entry: ProviderPod): void {
    const wanted = referenceOf(pod);
    const { uid, namespace, name, nodeName, containers = [], ips = [] } = entry;
    const listed = { uid, namespace, name, nodeName };
    for (const field of ['uid', 'namespace', 'name', 'nodeName'] as const)
      this.results.check('reference', listed[field] === wanted[field], `${field} is ${show(listed[field])}`);
    const names = new Set(pod.spec?.containers?.map((container) => container.name));
    const unknown = containers.find((container) => !names.has(container.name));
    this.results.check('container-names', unknown === undefined, `The pod has no container ${show(unknown?.name)}`);
    const wrong = ips.find((ip) => isIP(ip) === 0);
    this.results.check('pod-address', wrong === undefined, `ips has ${show(wrong)}`);
    this.#checkSecret(JSON.stringify(entry), 'A listed pod');
  }

  #checkSecret(text: string, where: string): void {
    this.results.check('secrets', !text.includes(this.#secret), `${where} has the value of a Secret`);
  }
}

/** What a call that is about the pod gets. */
export function referenceOf({ metadata: { uid, namespace, name }, spec }: ValidPod): ProviderPodReference {
  return { uid, namespace, name, nodeName: spec?.nodeName ?? '' };
}

/** True if a container of the pod runs, which is the default of one that is not listed. */
export function isRunning({ state, containers = [] }: ProviderPod): boolean {
  return state === 'running' && containers.every(({ exit, waiting }) => exit === undefined && waiting === undefined);
}

function materialsOf({ spec }: ValidPod, secret: string): PodMaterials {
  const ofContainers = (spec?.containers ?? []).map(({ name, command = [], args = [], env = [] }) => {
    const own = env.map((variable) => ({ name: variable.name, value: variable.value ?? '' }));
    return [name, { command, args, env: [...own, { name: 'CHECK_SECRET', value: secret }] }] as const;
  });
  return { containers: new Map(ofContainers), volumes: new Map(), pullSecrets: [], missingPullSecrets: [] };
}
