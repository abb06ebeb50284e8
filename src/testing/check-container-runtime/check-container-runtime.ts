import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import isEqual from 'lodash/isEqual.js';
import type { ContainerRuntime, ExecResult } from '../../node/index.ts';
import type { Container, PodSpec, ValidPod } from '../../kube/objects/types.ts';
import { type Clock, type ClockLike, sleep } from '../../shared/clock.ts';
import { resolveClock } from '../../shared/ports.ts';
import {
  checkAsked,
  checkExited,
  checkKilled,
  checkResources,
  checkStarted,
  checkStartFailure,
  checkSurvived,
} from './check-statuses.ts';
import { seenIn } from '../call-outcome.ts';
import { type RuleResult, RuleResults, show } from '../rule-results.ts';
import { CheckedRuntime } from './checked-runtime.ts';
import { type RuntimeRule, runtimeRules } from './runtime-rules.ts';

/** A program such as a shell does not ignore SIGTERM from its first moment. */
const maxTrapMs = 1_000;

/** Containers that the runtime can run, and their expected results. Each runs in its own pod. */
export interface CheckContainerRuntimeOptions {
  /** Runs until it is asked to stop, then exits with an exit code other than 137. */
  readonly running: Container;
  /** Exits with 0 on its own. Writes to stdout if `podLogsDirectory` is set. */
  readonly completed: Container;
  /** Exits with an exit code other than 0 on its own, with a termination message. Default of `message`: not checked. */
  readonly failed: { readonly container: Container; readonly exitCode: number; readonly message?: string | undefined };
  /** Runs until it is killed. It ignores SIGTERM within a second after its start. Default: not checked. */
  readonly stubborn?: Container | undefined;
  /** Cannot be started, for example because of its command. Default: not checked. */
  readonly unstartable?: Container | undefined;
  /**
   * A command for `running` and its result, and one that does not end on its own. Default: not checked, as in a runtime
   * that runs no commands.
   */
  readonly exec?:
    | {
        readonly command: readonly string[];
        readonly result: ExecResult;
        readonly endless: readonly string[];
        /** Prints the mode of an emptyDir that `running` mounts, in octal. Default: not checked. */
        readonly modeOfEmptyDir?: readonly string[] | undefined;
      }
    | undefined;
  /** The folder of logs, `/var/log/pods` of a kubelet. Default: logs are not checked. */
  readonly podLogsDirectory?: string | undefined;
  /** Further fields of the pods' specs, for example volumes. */
  readonly podSpec?: PodSpec | undefined;
  /**
   * Ends the use of the runtime and resolves with the runtime that a restarted agent gets. Default: not checked, as with
   * containers that end with the agent.
   */
  readonly restart?: (() => Promise<ContainerRuntime>) | undefined;
  /** Time-out of a call, and of a container that is to end on its own. Default: 10,000. */
  readonly timeoutMs?: number | undefined;
  /** Default: the system clock. */
  readonly clock?: ClockLike | undefined;
}

/**
 * The checklist for authors of a `ContainerRuntime`: runs a few pods, removes them again, and resolves
 * with a result for each rule. A pod on a runtime that follows all rules looks as it does under the
 * kubelet. Rules about methods that the runtime does not have, and about options that are not set, are
 * not in the list. It takes some seconds.
 *
 * @example
 * ```ts
 * import { checkContainerRuntime } from 'kubelet-status-manager/testing';
 *
 * const container = (...command: string[]) => ({ name: 'app', image: 'busybox:1', command });
 * const results = await checkContainerRuntime(runtime, {
 *   running: container('sh', '-c', 'trap "exit 0" TERM; while true; do sleep 0.1; done'),
 *   completed: container('true'),
 *   failed: { container: container('sh', '-c', 'exit 3'), exitCode: 3 },
 *   stubborn: container('sh', '-c', 'trap "" TERM; while true; do sleep 1; done'),
 *   unstartable: container('no-such-command'),
 *   exec: {
 *     command: ['sh', '-c', 'echo out; echo err >&2; exit 3'],
 *     result: { exitCode: 3, stdout: 'out\n', stderr: 'err\n' },
 *     endless: ['sleep', '1000'],
 *   },
 * });
 * for (const { rule, passed, message } of results) if (!passed) console.log(`${rule}: ${message}`);
 * ```
 */
export async function checkContainerRuntime(
  runtime: ContainerRuntime,
  options: CheckContainerRuntimeOptions,
): Promise<RuleResult[]> {
  const results = new RuleResults(runtimeRules);
  const checklist = new Checklist(runtime, options, results);
  await checklist.run();
  return results.list();
}

class Checklist {
  readonly #options: CheckContainerRuntimeOptions;
  readonly #results: RuleResults<RuntimeRule>;
  readonly #clock: Clock;
  readonly #runtime: CheckedRuntime;

  constructor(runtime: ContainerRuntime, options: CheckContainerRuntimeOptions, results: RuleResults<RuntimeRule>) {
    this.#options = options;
    this.#results = results;
    this.#clock = resolveClock(options.clock);
    const { podSpec = {}, timeoutMs = 10_000 } = options;
    this.#runtime = new CheckedRuntime(runtime, { results, podSpec, timeoutMs, clock: this.#clock });
  }

  async run(): Promise<void> {
    const { stubborn, unstartable, exec } = this.#options;
    await this.#step('status', () => this.#checkStatus());
    await this.#step('running', () => this.#checkRunning());
    if (exec !== undefined) await this.#step('exec', () => this.#checkExec(exec));
    await this.#step('completed', () => this.#checkCompleted());
    await this.#step('failed', () => this.#checkFailed());
    if (stubborn !== undefined) await this.#step('stubborn', () => this.#checkStubborn(stubborn));
    if (unstartable !== undefined) await this.#step('unstartable', () => this.#checkUnstartable(unstartable));
    if (this.#runtime.raw.stopPodSandbox !== undefined) await this.#step('running', () => this.#checkSandboxStop());
    await this.#step('removal', () => this.#runtime.close());
  }

  /** A call that rejects unexpectedly ends its step, not the checklist. */
  async #step(what: string, step: () => Promise<void>): Promise<void> {
    try {
      await step();
      this.#results.check('calls-succeed', true, '');
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.#runtime.checkMessage(message);
      this.#results.check('calls-succeed', false, `With \`${what}\`, a call rejected with ${show(message)}`);
    }
  }

  async #checkStatus(): Promise<void> {
    const { bounded } = this.#runtime;
    const unknown = await bounded.getPod('no-such-uid');
    this.#results.check('unknown-pod', unknown === undefined, `getPod resolved with ${show(unknown)}`);
    const { conditions } = (await bounded.status?.()) ?? {};
    if (conditions === undefined) return;
    const isReady = ['RuntimeReady', 'NetworkReady'].every((type) =>
      conditions.some((condition) => condition.type === type && condition.status),
    );
    this.#results.check('runtime-ready', isReady, `The conditions are ${show(conditions)}`);
  }

  /** Start, restart of the agent, resize, stop, second run, removal. */
  async #checkRunning(): Promise<void> {
    const { running } = this.#options;
    const created = await this.#runtime.createPod(running);
    const { pod } = created;
    const first = await this.#start(pod, await this.#runtime.create(created));
    await this.#checkResize(pod, first);
    await this.#restart(pod);
    await this.#runtime.repeat('stopContainer', () => this.#runtime.bounded.stopContainer(first, 10));
    const stopped = await this.#runtime.statusOf(pod, first);
    checkAsked(this.#results, stopped);
    checkExited(this.#results, stopped, undefined, this.#clock.now());

    const second = await this.#runtime.create(created, 1);
    this.#results.check('container-id', second !== first, `Two runs have the ID ${first}`);
    const kept = await this.#runtime.statusOf(pod, first);
    this.#results.check('runs-kept', kept?.state === 'exited', `The earlier run is ${show(kept?.state)}`);
    await this.#runtime.bounded.startContainer(second);
    await this.#runtime.repeat('removeContainer', () => this.#runtime.bounded.removeContainer(second));
    const left = await this.#runtime.statusOf(pod, second);
    this.#results.check('runs-removed', left === undefined, `After removeContainer: ${show(left?.state)}`);
    await this.#checkUnknown(second);
    await this.#runtime.removePod(pod);
  }

  async #checkUnknown(id: string): Promise<void> {
    const { raw } = this.#runtime;
    const calls: Readonly<Record<string, () => Promise<unknown>>> = {
      startContainer: () => raw.startContainer(id),
      ...(this.#options.exec && { execSync: () => raw.execSync(id, this.#options.exec!.command, 1000) }),
    };
    const bareID = id.slice(id.indexOf('://') + 3);
    for (const [method, call] of Object.entries(calls)) {
      const outcome = await this.#runtime.outcomeOf(call);
      const isNamed = outcome.state === 'rejected' && outcome.message.includes(bareID);
      this.#results.check('unknown-container', isNamed, `${method}: ${seenIn(outcome)}`);
    }
    for (const [method, call] of [
      ['stopContainer', () => raw.stopContainer(id, 0)],
      ['removeContainer', () => raw.removeContainer(id)],
    ] as const) {
      const outcome = await this.#runtime.outcomeOf(call);
      this.#results.check('unknown-container', outcome.state === 'resolved', `${method}: ${seenIn(outcome)}`);
    }
  }

  async #checkResize(pod: ValidPod, id: string): Promise<void> {
    const { bounded } = this.#runtime;
    if (bounded.updateContainerResources === undefined) return;
    const limits = { cpu: '200m', memory: '128Mi' };
    const resources = { limits, requests: limits };
    const container = { ...this.#options.running, resources };
    const resized = { ...pod, spec: { ...pod.spec, containers: [container] } };
    await bounded.updateContainerResources(id, resources, { pod: resized, container });
    const shown = (await this.#runtime.statusOf(pod, id))?.resources;
    checkResources(this.#results, 'resize-shown', shown, resources);
  }

  async #restart(pod: ValidPod): Promise<void> {
    const { restart } = this.#options;
    if (restart === undefined) return;
    const before = await this.#runtime.podOf(pod);
    await this.#runtime.restart(restart);
    checkSurvived(this.#results, before, await this.#runtime.podOf(pod));
  }

  async #checkExec(exec: NonNullable<CheckContainerRuntimeOptions['exec']>): Promise<void> {
    const created = await this.#runtime.createPod(this.#options.running);
    const { pod } = created;
    const id = await this.#runtime.create(created);
    const { raw } = this.#runtime;
    await this.#start(pod, id);
    const result = await this.#runtime.bounded.execSync(id, exec.command, 10_000);
    this.#results.check('exec-result', isEqual(result, exec.result), `The result is ${show(result)}`);
    const timedOut = await this.#runtime.outcomeOf(() => raw.execSync(id, exec.endless, 1000));
    const hasFailed =
      timedOut.state === 'rejected' || (timedOut.state === 'resolved' && (timedOut.value as ExecResult).exitCode !== 0);
    this.#results.check('exec-time-out', hasFailed, `After 1 s: ${seenIn(timedOut)}`);
    await this.#checkAbort('execSync', (signal) => raw.execSync(id, exec.endless, 3_600_000, { signal }));
    if (exec.modeOfEmptyDir !== undefined) {
      const { stdout } = await this.#runtime.bounded.execSync(id, exec.modeOfEmptyDir, 10_000);
      this.#results.check('empty-dir-mode', stdout.trim().endsWith('777'), `The mode is ${show(stdout.trim())}`);
    }
    await this.#runtime.bounded.stopContainer(id, 10);
    const late = await this.#runtime.outcomeOf(() => raw.execSync(id, exec.command, 10_000));
    this.#results.check('exec-stopped', late.state === 'rejected', `In a stopped container: ${seenIn(late)}`);
    await this.#runtime.removePod(pod);
  }

  async #checkCompleted(): Promise<void> {
    const { completed, podLogsDirectory } = this.#options;
    const { pod } = await this.#runToEnd(completed, 0);
    if (podLogsDirectory !== undefined) {
      const { namespace, name, uid } = pod.metadata;
      const path = join(`${namespace}_${name}_${uid}`, completed.name, '0.log');
      const text = await readFile(join(podLogsDirectory, path), 'utf8').catch(() => undefined);
      const isLog = /^\S+ std(?:out|err) [FP]\b/.test(text ?? '');
      this.#results.check('log-path', isLog, `${path} is ${text === undefined ? 'missing' : 'in another format'}`);
    }
    // The pod stays until `close`, which removes it after the subscription has ended.
  }

  async #checkFailed(): Promise<void> {
    const { container, exitCode, message } = this.#options.failed;
    const { pod, status } = await this.#runToEnd(container, exitCode);
    if (message !== undefined)
      this.#results.check('termination-message', status?.message === message, `message is ${show(status?.message)}`);
    await this.#runtime.removePod(pod);
  }

  async #runToEnd(container: Container, exitCode: number) {
    const created = await this.#runtime.createPod(container);
    const { pod } = created;
    const id = await this.#runtime.create(created);
    await this.#runtime.bounded.startContainer(id);
    const status = await this.#runtime.whenExited(pod, id);
    checkExited(this.#results, status, exitCode, this.#clock.now());
    await this.#runtime.checkExitEvent(pod, id);
    return { pod, status };
  }

  async #checkStubborn(stubborn: Container): Promise<void> {
    const { raw } = this.#runtime;
    const created = await this.#runtime.createPod(stubborn);
    const { pod } = created;
    const id = await this.#start(pod, await this.#runtime.create(created));
    await sleep(this.#clock, maxTrapMs, new AbortController().signal);
    await this.#checkAbort('stopContainer', (signal) => raw.stopContainer(id, 3600, { signal }));
    const sinceMs = this.#clock.monotonicMs();
    const stopped = await this.#runtime.outcomeOf(() => raw.stopContainer(id, 1));
    this.#results.check('stop-shortened', stopped.state === 'resolved', `stopContainer with 1 s: ${seenIn(stopped)}`);
    const status = await this.#runtime.statusOf(pod, id);
    checkKilled(this.#results, status, this.#clock.monotonicMs() - sinceMs);
    await this.#runtime.removePod(pod);
  }

  async #checkUnstartable(container: Container): Promise<void> {
    const created = await this.#runtime.createPod(container);
    const { pod } = created;
    let id: string;
    try {
      id = await this.#runtime.create(created);
    } catch (error) {
      this.#runtime.checkMessage((error as Error).message);
      this.#results.check('start-failure', true, '');
      return this.#runtime.removePod(pod);
    }
    const outcome = await this.#runtime.outcomeOf(() => this.#runtime.raw.startContainer(id));
    this.#results.check('start-failure', outcome.state === 'rejected', `startContainer: ${seenIn(outcome)}`);
    checkStartFailure(this.#results, await this.#runtime.statusOf(pod, id));
    await this.#runtime.removePod(pod);
  }

  async #checkSandboxStop(): Promise<void> {
    const created = await this.#runtime.createPod(this.#options.running);
    const { pod, sandboxID = '' } = created;
    const id = await this.#start(pod, await this.#runtime.create(created));
    const { bounded } = this.#runtime;
    await this.#runtime.repeat('stopPodSandbox', () => bounded.stopPodSandbox!(sandboxID));
    const { sandboxes = [], containers = [] } = (await this.#runtime.podOf(pod)) ?? {};
    const isReady = sandboxes.find((sandbox) => sandbox.id === sandboxID)?.ready;
    const state = containers.find((container) => container.id === id)?.state;
    const isStopped = isReady === false && state === 'exited';
    this.#results.check('sandbox-stop', isStopped, `The sandbox is ready: ${isReady}, the container is ${show(state)}`);
    if (bounded.removePodSandbox !== undefined) {
      await this.#runtime.repeat('removePodSandbox', () => bounded.removePodSandbox!(sandboxID));
      const left = await this.#runtime.podOf(pod);
      this.#results.check('sandbox-remove', left === undefined, `getPod still shows ${show(left)}`);
    }
    await this.#runtime.removePod(pod);
  }

  async #start(pod: ValidPod, id: string): Promise<string> {
    await this.#runtime.bounded.startContainer(id);
    const { resources } = pod.spec!.containers![0]!;
    checkStarted(this.#results, await this.#runtime.statusOf(pod, id), resources, this.#clock.now());
    return id;
  }

  async #checkAbort(method: string, call: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
    const controller = new AbortController();
    const outcome = this.#runtime.outcomeOf(() => call(controller.signal));
    await this.#clock.yieldToEventLoop();
    controller.abort(new Error('The call is no longer needed'));
    const { state } = await outcome;
    this.#results.check(
      'abort-signals',
      state !== 'pending',
      `${method} was still pending after its signal was aborted`,
    );
  }
}
