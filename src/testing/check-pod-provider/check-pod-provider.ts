import { Writable } from 'node:stream';
import type { Container, PodSpec, ValidPod } from '../../kube/objects/types.ts';
import { type Clock, type ClockLike, sleep } from '../../shared/clock.ts';
import { resolveClock } from '../../shared/ports.ts';
import { type PodProvider, ProviderError, type ProviderPod } from '../../virtual-nodes/pod-provider.ts';
import { podHash } from '../../virtual-nodes/pods/pod-hash.ts';
import { seenIn } from '../call-outcome.ts';
import { type RuleResult, RuleResults, show } from '../rule-results.ts';
import { CheckedProvider, isRunning, referenceOf } from './checked-provider.ts';
import { type ProviderRule, providerRules } from './provider-rules.ts';

/** The grace period of most pods. */
const gracePeriodSeconds = 30;

/** Containers that the provider can run, and their expected results. Each runs in a pod of its own. */
export interface CheckPodProviderOptions {
  /** Runs until its pod is deleted. */
  readonly running: Container;
  /** Exits with 0 on its own. Default: not checked. */
  readonly completed?: Container | undefined;
  /** Exits with an exit code other than 0 on its own. Default: not checked. */
  readonly failed?: { readonly container: Container; readonly exitCode: number } | undefined;
  /** Cannot run, for example because of its image. Default: not checked. */
  readonly refused?: Container | undefined;
  /** Runs until it is killed, and ignores that it is asked to stop. Default: not checked. */
  readonly stubborn?: Container | undefined;
  /** What `completed` writes: at least two lines. Default: the content of logs is not checked. */
  readonly log?: string | undefined;
  /** A command for `running`, and its result. Default: not checked. */
  readonly exec?:
    | { readonly command: readonly string[]; readonly exitCode: number; readonly stdout?: string | undefined }
    | undefined;
  /** The node of the pods. Default: `check-node`. */
  readonly nodeName?: string | undefined;
  /** Further fields of the pods' specs. */
  readonly podSpec?: PodSpec | undefined;
  /** Ends the process that has the provider, and resolves with the provider that the next one gets. Default: not checked. */
  readonly restart?: (() => Promise<PodProvider>) | undefined;
  /** Time-out of a call, and of what has to happen in the cloud. Default: 10,000. */
  readonly timeoutMs?: number | undefined;
  /** Default: the system clock. */
  readonly clock?: ClockLike | undefined;
}

/**
 * The checklist for authors of a `PodProvider`: creates a few pods, repeats and aborts calls as virtual nodes do after a
 * time-out or a restart, deletes the pods again, and resolves with a result for each rule. Rules about methods that the
 * provider does not have, and about options that are not set, are not in the list. It takes some seconds.
 *
 * @example
 * ```ts
 * import { checkPodProvider } from 'kubelet-status-manager/testing';
 *
 * const results = await checkPodProvider(provider, {
 *   running: { name: 'app', image: 'busybox:1', command: ['sleep', '3600'] },
 *   completed: { name: 'app', image: 'busybox:1', command: ['true'] },
 *   failed: { container: { name: 'app', image: 'busybox:1', command: ['false'] }, exitCode: 1 },
 * });
 * for (const { rule, passed, message } of results) if (!passed) console.log(`${rule}: ${message}`);
 * ```
 */
export async function checkPodProvider(provider: PodProvider, options: CheckPodProviderOptions): Promise<RuleResult[]> {
  const results = new RuleResults(providerRules);
  await new Checklist(provider, options, results).run();
  return results.list();
}

class Checklist {
  readonly #options: CheckPodProviderOptions;
  readonly #results: RuleResults<ProviderRule>;
  readonly #clock: Clock;
  readonly #cloud: CheckedProvider;

  constructor(provider: PodProvider, options: CheckPodProviderOptions, results: RuleResults<ProviderRule>) {
    this.#options = options;
    this.#results = results;
    this.#clock = resolveClock(options.clock);
    const { nodeName = 'check-node', podSpec = {}, timeoutMs = 10_000 } = options;
    this.#cloud = new CheckedProvider(provider, { results, nodeName, podSpec, timeoutMs, clock: this.#clock });
  }

  async run(): Promise<void> {
    const { completed, failed, refused, stubborn } = this.#options;
    await this.#step('unknown', () => this.#checkUnknown());
    await this.#step('running', () => this.#checkRunning());
    if (completed !== undefined) await this.#step('completed', () => this.#checkCompleted(completed));
    if (failed !== undefined) await this.#step('failed', () => this.#checkExit(failed.container, failed.exitCode));
    const ends = completed ?? failed?.container;
    if (ends !== undefined && this.#cloud.provider.capabilities?.restarts === 'node')
      await this.#step('restart', () => this.#checkRestart(ends));
    if (this.#cloud.provider.killContainer !== undefined) await this.#step('kill', () => this.#checkKill());
    if (refused !== undefined) await this.#step('refused', () => this.#checkRefused(refused));
    if (stubborn !== undefined) await this.#step('stubborn', () => this.#checkStubborn(stubborn));
    await this.#step('removal', () => this.#cloud.close());
  }

  /** A call that rejects unexpectedly ends its step, not the checklist. */
  async #step(what: string, step: () => Promise<void>): Promise<void> {
    try {
      await step();
      this.#results.check('calls-succeed', true, '');
    } catch (error) {
      this.#results.check('calls-succeed', false, `With \`${what}\`, ${(error as Error).message}`);
    }
  }

  async #checkUnknown(): Promise<void> {
    const { provider } = this.#cloud;
    const pod = this.#cloud.newPod(this.#options.running);
    const reference = referenceOf(pod);
    await this.#cloud.expect('delete-unknown', '`deletePod` of an unknown pod', this.#cloud.deleteCall(pod, 0));
    if (provider.getPod !== undefined) {
      const outcome = await this.#cloud.outcomeOf(async (current, signal) =>
        current.getPod!(reference, { signal, epoch: 0 }),
      );
      const isUndefined = outcome.state === 'resolved' && outcome.value === undefined;
      this.#results.check('get-pod', isUndefined, `Of an unknown pod: ${seenIn(outcome)}`);
    }
    const reads: Readonly<Record<'logs' | 'exec', (signal: AbortSignal) => Promise<unknown>>> = {
      logs: (signal) => this.#readLog(pod, {}, signal),
      exec: (signal) => this.#exec(pod, ['true'], signal),
    };
    for (const method of ['logs', 'exec'] as const) {
      if (provider[method] === undefined) continue;
      const outcome = await this.#cloud.outcomeOf((_, signal) => reads[method](signal));
      this.#results.check('unknown-container', outcome.state === 'rejected', `\`${method}\`: ${seenIn(outcome)}`);
    }
  }

  /** Calls that are repeated and aborted, a restart of the process, and the end of one of two pods. */
  async #checkRunning(): Promise<void> {
    const { running } = this.#options;
    const pod = this.#cloud.newPod(running);
    const other = this.#cloud.newPod(running);
    await this.#cloud.call('createPod', this.#cloud.createCall(pod));
    await this.#cloud.expect('create-repeatable', '`createPod`, called again', this.#cloud.createCall(pod));
    await this.#cloud.expectAbort('`createPod`', this.#cloud.createCall(other));
    await this.#cloud.expectAbort('`listPods`', (provider, signal) => provider.listPods({ signal }));
    await this.#cloud.expect('create-repeatable', '`createPod` after an aborted one', this.#cloud.createCall(other));
    const first = await this.#untilRunning(pod);
    await this.#untilRunning(other);
    await this.#cloud.expectNotified(pod, 'running');
    await this.#cloud.expect('create-repeatable', '`createPod` of a running pod', this.#cloud.createCall(pod));
    await this.#checkSame('create-repeatable', pod, first);
    await this.#checkUpdate(pod);
    await this.#checkLookups(pod);
    await this.#restart(pod);
    await this.#cloud.remove(other, gracePeriodSeconds);
    await this.#checkSame('delete-others', pod, first);
    await this.#cloud.remove(pod);
    await this.#cloud.unsubscribe(async () => {
      const last = this.#cloud.newPod(running);
      await this.#cloud.call('createPod', this.#cloud.createCall(last));
      await this.#untilRunning(last);
      await this.#cloud.remove(last);
    });
  }

  async #untilRunning(pod: ValidPod): Promise<ProviderPod | undefined> {
    const entry = await this.#cloud.podWhen(pod, isRunning);
    this.#results.check('running-observed', entry !== undefined && isRunning(entry), `The pod stays ${show(entry)}`);
    if (entry?.startedAt !== undefined)
      this.#results.check('started-at', this.#cloud.isNow(entry.startedAt), `startedAt is ${show(entry.startedAt)}`);
    this.#checkHash(pod, entry);
    return entry;
  }

  #checkHash(pod: ValidPod, entry: ProviderPod | undefined): void {
    if (entry?.podHash === undefined) return;
    this.#results.check('pod-hash', entry.podHash === podHash(pod), `podHash is ${show(entry.podHash)}`);
  }

  /** The pod runs as it did: it was not created a second time. */
  async #checkSame(rule: ProviderRule, pod: ValidPod, before: ProviderPod | undefined): Promise<void> {
    const after = await this.#cloud.podWhen(pod, isRunning);
    const runs = (entry: ProviderPod | undefined): unknown => [
      entry?.state,
      entry?.startedAt,
      entry?.ips,
      entry?.containers?.map(({ restartCount = 0, startedAt }) => [restartCount, startedAt]),
    ];
    this.#results.check(
      rule,
      show(runs(after)) === show(runs(before)),
      `The pod is ${show(after)}, and was ${show(before)}`,
    );
  }

  async #checkUpdate(pod: ValidPod): Promise<void> {
    if (this.#cloud.provider.updatePod === undefined) return;
    const labels = { check: 'updated' };
    const updated: ValidPod = { ...pod, metadata: { ...pod.metadata, labels } };
    await this.#cloud.call('updatePod', this.#cloud.updateCall(updated, pod));
    await this.#cloud.expect(
      'update-repeatable',
      '`updatePod`, called again',
      this.#cloud.updateCall(updated, undefined),
    );
    const entry = await this.#cloud.podWhen(pod, ({ podHash: hash }) => hash === podHash(updated));
    this.#checkHash(updated, entry);
    this.#results.check('update-repeatable', entry !== undefined && isRunning(entry), `The pod is ${show(entry)}`);
  }

  async #checkLookups(pod: ValidPod): Promise<void> {
    const { provider } = this.#cloud;
    const { exec } = this.#options;
    if (provider.getPod !== undefined) {
      const found = await this.#cloud.call('getPod', async (current, signal) =>
        current.getPod!(referenceOf(pod), { signal, epoch: 0 }),
      );
      const listed = await this.#cloud.list(pod);
      const seen = `${show(found)}, and listed ${show(listed)}`;
      this.#results.check('get-pod', found?.uid === pod.metadata.uid && found.state === listed?.state, seen);
    }
    if (provider.exec !== undefined && exec !== undefined) {
      const { exitCode, stdout } = await this.#cloud.call('exec', (_, signal) => this.#exec(pod, exec.command, signal));
      const isExpected = exitCode === exec.exitCode && stdout === (exec.stdout ?? stdout);
      this.#results.check('exec-result', isExpected, `The result is ${show({ exitCode, stdout })}`);
    }
    if (provider.logs !== undefined) {
      await this.#cloud.expect('log-ends', 'Of a running container', (_, signal) => this.#readLog(pod, {}, signal));
      await this.#cloud.expectAbort('`logs` with `follow`', (_, signal) =>
        this.#readLog(pod, { follow: true }, signal),
      );
    }
    if (provider.stats !== undefined) {
      const stats = await this.#cloud.call('stats', (current, signal) => current.stats!({ signal }));
      const ofPod = stats.find(({ podRef }) => podRef.uid === pod.metadata.uid);
      const names = ofPod?.containers.map(({ name }) => name);
      this.#results.check('stats', names?.[0] === pod.spec?.containers?.[0]?.name, `The pod has ${show(names)}`);
    }
  }

  async #restart(pod: ValidPod): Promise<void> {
    const { restart } = this.#options;
    if (restart === undefined) return;
    const before = await this.#cloud.podWhen(pod, isRunning);
    await this.#cloud.restart(restart);
    await this.#checkSame('survives-restart', pod, before);
  }

  async #checkCompleted(container: Container): Promise<void> {
    const { log } = this.#options;
    const pod = await this.#runToEnd(container, 0);
    if (this.#cloud.provider.logs !== undefined && log !== undefined) {
      const text = await this.#cloud.call('logs', (_, signal) => this.#readLog(pod, {}, signal));
      this.#results.check('log-content', text === log, `The log is ${show(text)}`);
      const last = await this.#cloud.call('logs', (_, signal) => this.#readLog(pod, { tailLines: 1 }, signal));
      const isLast = last !== log && log.endsWith(last) && last.trimEnd().split('\n').length === 1;
      this.#results.check('log-tail', isLast, `With tailLines 1: ${show(last)}`);
      await this.#cloud.expect('log-ends', 'With `follow`, of a container that has ended', (_, signal) =>
        this.#readLog(pod, { follow: true }, signal),
      );
    }
    await this.#cloud.remove(pod);
  }

  async #checkExit(container: Container, exitCode: number): Promise<void> {
    await this.#cloud.remove(await this.#runToEnd(container, exitCode));
  }

  async #runToEnd(container: Container, exitCode: number): Promise<ValidPod> {
    const pod = this.#cloud.newPod(container);
    await this.#cloud.call('createPod', this.#cloud.createCall(pod));
    const entry = await this.#cloud.podWhen(pod, ({ state }) => state === 'stopped');
    this.#results.check('exit-observed', entry?.state === 'stopped', `The pod stays ${show(entry?.state)}`);
    if (entry?.state !== 'stopped') return pod;
    // The default of a container whose end is not reported.
    const seen = entry.containers?.[0]?.exit?.exitCode ?? 137;
    this.#results.check('exit-code', seen === exitCode, `exitCode is ${seen}, and should be ${exitCode}`);
    const { startedAt, finishedAt } = timesOf(entry);
    if (finishedAt !== undefined) {
      const isInOrder = this.#cloud.isNow(finishedAt) && !(startedAt! > finishedAt);
      this.#results.check('exit-times', isInOrder, show({ startedAt, finishedAt }));
    }
    await this.#checkSameEnd('exit-kept', pod, entry);
    return pod;
  }

  /** Runs a pod to its end twice: virtual nodes start it again. */
  async #checkRestart(container: Container): Promise<void> {
    const pod = this.#cloud.newPod(container, { restartPolicy: 'Always' });
    await this.#cloud.call('createPod', this.#cloud.createCall(pod));
    const first = await this.#cloud.podWhen(pod, ({ state }) => state === 'stopped');
    // The times of a cloud may be whole seconds.
    await this.#checkSameEnd('restarted', pod, first);
    await this.#cloud.call('createPod', this.#cloud.createCall(pod, 1));
    await this.#cloud.expect('restart-repeatable', '`createPod`, called again', this.#cloud.createCall(pod, 1));
    const isSecond = ({ restartCount = 0 }: ProviderPod): boolean => restartCount > 0;
    const second = await this.#cloud.podWhen(pod, (entry) => isSecond(entry) || isRunning(entry));
    const hasRestarted = second !== undefined && (isSecond(second) || isRunning(second));
    this.#results.check(
      'restarted',
      hasRestarted,
      `After \`createPod\` with restartCount 1, the pod is ${show(second)}`,
    );
    if (!hasRestarted) return;
    const last = await this.#cloud.podWhen(pod, (entry) => isSecond(entry) && entry.state === 'stopped');
    const isNew = (['startedAt', 'finishedAt'] as const).every(
      (time) => !(timesOf(last)[time]! <= timesOf(first)[time]!),
    );
    const isReported = last?.restartCount === 1 && last.state === 'stopped' && isNew;
    this.#results.check(
      'restart-reported',
      isReported,
      `The second run is ${show(last)}, the first one was ${show(first)}`,
    );
    for (const restartCount of [1, 0]) await this.#cloud.call('createPod', this.#cloud.createCall(pod, restartCount));
    await this.#checkSameEnd('restart-repeatable', pod, last);
    await this.#cloud.remove(pod);
  }

  /** Ends a container, as after a probe of the node has failed. */
  async #checkKill(): Promise<void> {
    const { running } = this.#options;
    const { restarts } = this.#cloud.provider.capabilities ?? {};
    const pod = this.#cloud.newPod(running, restarts === undefined ? {} : { restartPolicy: 'Always' });
    const other = this.#cloud.newPod(running);
    const expectKill = (rule: ProviderRule, what: string): Promise<void> =>
      this.#cloud.expect(rule, `\`killContainer\`${what}`, this.#cloud.killCall(pod, 0, 1));
    await expectKill('kill-unknown', ' of an unknown pod');
    for (const created of [pod, other]) await this.#cloud.call('createPod', this.#cloud.createCall(created));
    await this.#untilRunning(pod);
    const otherBefore = await this.#untilRunning(other);
    await expectKill('kill-ends', '');
    await expectKill('kill-repeatable', ', called again');
    const killed = await this.#cloud.podWhen(pod, (entry) => !isRunning(entry) || runOf(entry) > 0);
    const hasEnded = killed === undefined || !isRunning(killed) || runOf(killed) > 0;
    this.#results.check('kill-ends', hasEnded, `The pod is ${show(killed)}`);
    await this.#checkSame('kill-others', other, otherBefore);
    await this.#cloud.remove(other);
    if (!hasEnded) return;
    const { state, reason, containers = [] } = killed ?? {};
    const isReported = (killed !== undefined && isRunning(killed)) || containers.some(({ exit }) => exit !== undefined);
    const mayRunAgain = restarts !== 'node' || (state === 'stopped' && !reason);
    this.#results.check('kill-reported', isReported && mayRunAgain, `The pod is ${show(killed)}`);
    await expectKill('kill-repeatable', ' of a run that has ended');
    if (killed !== undefined && restarts !== undefined) {
      if (restarts === 'node') await this.#cloud.call('createPod', this.#cloud.createCall(pod, 1));
      const isNext = (entry: ProviderPod): boolean => isRunning(entry) && runOf(entry) > 0;
      const next = await this.#cloud.podWhen(pod, isNext);
      await expectKill('kill-repeatable', ' of an earlier run');
      await sleep(this.#clock, 1000, new AbortController().signal);
      await this.#checkSame('kill-repeatable', pod, next);
    }
    await this.#cloud.remove(pod);
  }

  /** After a second, the pod has stopped as it had before: it has not run again. */
  async #checkSameEnd(rule: ProviderRule, pod: ValidPod, before: ProviderPod | undefined): Promise<void> {
    await sleep(this.#clock, 1000, new AbortController().signal);
    const kept = await this.#cloud.list(pod);
    const runOf = (entry: ProviderPod | undefined): string => show([entry?.restartCount, timesOf(entry)]);
    const isSame = kept?.state === 'stopped' && runOf(kept) === runOf(before);
    this.#results.check(rule, isSame, `After a second, the pod is ${show(kept)}, and was ${show(before)}`);
  }

  async #checkRefused(container: Container): Promise<void> {
    const pod = this.#cloud.newPod(container);
    const outcome = await this.#cloud.outcomeOf(this.#cloud.createCall(pod));
    if (outcome.state === 'rejected') {
      const { error } = outcome;
      const { permanent, reason } = error instanceof ProviderError ? error : { permanent: false, reason: '' };
      this.#results.check(
        'refusal',
        permanent && isReason(reason),
        `${seenIn(outcome)}: ${show({ permanent, reason })}`,
      );
    } else {
      const { state, reason } = (await this.#cloud.podWhen(pod, (entry) => entry.state === 'stopped')) ?? {};
      this.#results.check('refusal', state === 'stopped' && isReason(reason), `The pod is ${show({ state, reason })}`);
    }
    await this.#cloud.remove(pod);
  }

  async #checkStubborn(container: Container): Promise<void> {
    const pod = this.#cloud.newPod(container);
    await this.#cloud.call('createPod', this.#cloud.createCall(pod));
    await this.#untilRunning(pod);
    await this.#cloud.call('deletePod', this.#cloud.deleteCall(pod, 3600));
    await this.#cloud.call('deletePod', this.#cloud.deleteCall(pod, 0));
    await this.#cloud.expectEnd('delete-shortened', pod, 0);
    await this.#cloud.remove(pod, 0);
  }

  async #readLog(
    pod: ValidPod,
    log: { readonly follow?: boolean; readonly tailLines?: number },
    signal: AbortSignal,
  ): Promise<string> {
    const { name } = pod.spec!.containers![0]!;
    const chunks: Uint8Array[] = [];
    const options = { signal, epoch: 0 };
    const stream = await this.#cloud.provider.logs!(referenceOf(pod), name, { previous: false, ...log }, options);
    for await (const chunk of stream) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  }

  async #exec(pod: ValidPod, command: readonly string[], signal: AbortSignal) {
    const { name } = pod.spec!.containers![0]!;
    let stdout = '';
    const output = new Writable({
      write(chunk, _encoding, done) {
        stdout += String(chunk);
        done();
      },
    });
    const io = { tty: false, stdout: output, stderr: output, onResize: (): void => {} };
    const exitCode = await this.#cloud.provider.exec!(referenceOf(pod), name, command, io, { signal, epoch: 0 });
    return { exitCode, stdout };
  }
}

function runOf({ restartCount = 0, containers = [] }: ProviderPod): number {
  return containers[0]?.restartCount ?? restartCount;
}

function timesOf({ containers, startedAt: podStartedAt }: Partial<ProviderPod> = {}) {
  const { startedAt = podStartedAt, exit } = containers?.[0] ?? {};
  return { startedAt, finishedAt: exit?.finishedAt };
}

function isReason(reason: string | undefined): boolean {
  return reason !== undefined && /^[A-Z][A-Za-z0-9]*$/.test(reason);
}
