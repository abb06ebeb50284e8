import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { httpOf } from '../../support/node/cluster.ts';
import { healthzPortOf } from '../../support/node/agents.ts';
import type { NodeUnderTest } from '../../support/node/node-under-test.ts';
import { withSession } from '../../support/node/session.ts';
import type { Json, KubeHTTP } from '../../support/kube-http.ts';
import { HistoryRecorder } from '../history.ts';
import { checkTerminalIsFinal, type Violation } from '../invariants.ts';
import { Random } from '../random.ts';
import { podNames, Users } from '../users.ts';
import { AgentLog } from './agent-log.ts';
import { ContainerdLog } from './containerd-log.ts';
import { findLeaks, findShims } from './leaks.ts';
import { type NodeFault, type NodeFaultName, nodeFaults } from './node-faults.ts';
import { checkHistory, differenceToRuntime, RunLog } from './node-invariants.ts';
import { RuntimeReader, type RuntimeSnapshot } from './runtime-snapshot.ts';
import { makeNodePod, workloadObjects } from './workload.ts';

export interface NodeRunOptions {
  readonly seed: string;
  readonly pods: number;
  readonly faults: readonly NodeFaultName[];
  /** Short faults, and no check of what the agent removes once a minute. */
  readonly quick: boolean;
  readonly index: number;
  readonly folder: string;
  readonly onPhase: (phase: string) => void;
}

export interface NodeFaultResult {
  readonly faults: string;
  /** From the end of the faults until every pod was as containerd has it; undefined if one never was. */
  readonly settledAfterMs: number | undefined;
  /** What the agent has logged from the start of the faults on: message → how often, at warn and above. */
  readonly warnings: Readonly<Record<string, number>>;
  /** What /readyz said. */
  readonly unready: readonly string[];
}

export interface NodeRunResult {
  readonly faults: readonly NodeFaultResult[];
  readonly actions: Readonly<Record<string, number>>;
  readonly pods: number;
  readonly runs: number;
  readonly violations: readonly Violation[];
}

const podsPath = '/api/v1/namespaces/default/pods';
const pollMs = 500;
const agentStartMs = 60_000;
const noResponse = 'the agent does not respond';
const rootDirBytes = 64 << 20;
/** A pod of a node with few pods lives for some 15 s. */
const podsPerPace = 8;

/** Runs pods on a node, and disturbs it. */
export async function runNodeChaos(options: NodeRunOptions): Promise<NodeRunResult> {
  return withSession(options, (session) => {
    const node = session.node('agent', { flags: { 'max-pods': String(2 * options.pods) } });
    return new NodeRun(options, node).run();
  });
}

class NodeRun {
  readonly #options: NodeRunOptions;
  readonly #node: NodeUnderTest;
  readonly #random: Random;
  readonly #http: KubeHTTP;
  readonly #reader: RuntimeReader;
  readonly #log: AgentLog;
  readonly #runLog = new RunLog();
  readonly #violations: Violation[] = [];
  readonly #actions: Record<string, number> = {};
  #isOver = false;
  #mayBeEvicted = false;

  constructor(options: NodeRunOptions, node: NodeUnderTest) {
    this.#options = options;
    this.#node = node;
    this.#random = new Random(options.seed);
    this.#http = httpOf(node.machine.kubeConfig('admin'));
    this.#reader = new RuntimeReader(node.machine.endpoint);
    this.#log = new AgentLog(node.agent.folder);
  }

  /** How long pods may take to be as containerd has them. */
  get #settleMs(): number {
    return 60_000 + 1_000 * this.#options.pods;
  }

  async run(): Promise<NodeRunResult> {
    const { faults, quick, onPhase } = this.#options;
    const recorder = new HistoryRecorder(this.#http);
    const watching = this.#watchRuntime();
    try {
      this.#mountRootDir();
      await this.#node.startAgent();
      for (const [resource, body] of workloadObjects)
        await this.#http.request('POST', `/api/v1/namespaces/default/${resource}`, { body });
      await recorder.start();
      const results: NodeFaultResult[] = [];
      // Pods settle once after all quick faults.
      const groups = quick ? [faults] : faults.map((fault) => [fault]);
      for (const group of groups) results.push(await this.#disturb(group));
      onPhase('deleting all pods');
      await this.#end();
      await recorder.stop();
      this.#violations.push(
        ...checkTerminalIsFinal(recorder.events),
        ...checkHistory(recorder.events),
        ...this.#runLog.violations,
      );
      return {
        faults: results,
        actions: this.#actions,
        pods: new Set(recorder.events.map(({ pod }) => pod.metadata.uid)).size,
        runs: this.#runLog.runs,
        violations: this.#violations,
      };
    } finally {
      this.#isOver = true;
      await watching;
      this.#reader.close();
      await this.#http.close();
    }
  }

  get #rootDir(): string {
    return join(this.#node.agent.folder, 'root');
  }

  /** So that it can be full. */
  #mountRootDir(): void {
    mkdirSync(this.#rootDir, { recursive: true });
    const { status, stderr } = spawnSync('mount', [
      ...['-t', 'tmpfs', '-o', `size=${rootDirBytes}`, 'tmpfs', this.#rootDir],
    ]);
    if (status !== 0) throw new Error(`Cannot mount a file system for the agent: ${stderr.toString()}`);
  }

  /** Users create and delete pods before and during faults. */
  async #disturb(names: readonly NodeFaultName[]): Promise<NodeFaultResult> {
    const { pods, quick, onPhase } = this.#options;
    const faults = names.join();
    const random = this.#random.fork(faults);
    const users = new Users(this.#http, random, makeNodePod, Math.max(3, pods / podsPerPace));
    users.start(podNames(pods));
    // Whatever the users do, a status is to be written during the faults. It is there already if a fault comes twice.
    await this.#http.request('POST', podsPath, { body: makeNodePod(`flips-${names[0]}`, random, 'flips') });
    onPhase(`${faults}: pods start`);
    await sleep(quick ? 6_000 : 20_000 + 200 * pods);
    const logLength = this.#log.length;
    const unready = new Set<string>();
    for (const name of names) {
      onPhase(name);
      await this.#cause(nodeFaults[name], unready);
    }
    await users.stop();
    for (const [action, times] of Object.entries(users.actions))
      this.#actions[action] = (this.#actions[action] ?? 0) + times;
    onPhase(`${faults}: pods settle`);
    const settledAfterMs = await this.#settle(faults, () => this.#silences(names, logLength, unready));
    const warnings: Record<string, number> = {};
    for (const { msg, reason } of this.#log.warningsSince(logLength)) {
      const text = reason === undefined ? msg : `${msg}: ${reason}`;
      warnings[text] = (warnings[text] ?? 0) + 1;
    }
    return { faults, settledAfterMs, warnings, unready: [...unready] };
  }

  async #cause(fault: NodeFault, unready: Set<string>): Promise<void> {
    if (fault.evicts === true) this.#mayBeEvicted = true;
    let isOn = true;
    const watching = this.#watchReadiness(() => isOn, unready);
    try {
      await fault.cause({
        node: this.#node,
        rootDir: this.#rootDir,
        isQuick: this.#options.quick,
        untilAgentResponds: () => this.#untilAgentResponds(),
      });
    } finally {
      isOn = false;
      await watching;
    }
  }

  /** Waits until each pod was once as containerd has it, and what belongs to pods that are gone is gone. */
  async #settle(faults: string, silences: () => readonly string[]): Promise<number | undefined> {
    const startedAtMs = Date.now();
    const settled = new Set<string>();
    for (;;) {
      const found = await this.#findProblems(settled).catch((error: unknown) => [String(error)]);
      const problems = [...found, ...silences()];
      const passedMs = Date.now() - startedAtMs;
      if (problems.length === 0) return passedMs;
      if (passedMs > this.#settleMs) {
        for (const problem of problems)
          this.#addViolation(`settled ${this.#settleMs / 1_000} s after ${faults}`, problem);
        return undefined;
      }
      await sleep(pollMs);
    }
  }

  /** @param settled UIDs of pods that need no check any more */
  async #findProblems(settled: Set<string>): Promise<string[]> {
    const snapshot = await this.#reader.read();
    const pods = await this.#listPods();
    const problems: string[] = [];
    for (const pod of pods) {
      const { uid, name } = pod.metadata;
      if (settled.has(uid)) continue;
      const problem = differenceToRuntime(pod, snapshot, this.#mayBeEvicted);
      if (problem === undefined) settled.add(uid);
      else problems.push(`${name} ${uid}: ${problem}`);
    }
    const unready = await this.#readinessProblem();
    return [
      ...problems,
      ...this.#leaks(snapshot, pods).early,
      ...(unready === undefined ? [] : [`the agent is not ready: ${unready}`]),
    ];
  }

  /** Deletes all pods. Nothing may be left of any. */
  async #end(): Promise<void> {
    const { quick } = this.#options;
    for (const { metadata } of await this.#listPods())
      await this.#http.request('DELETE', `${podsPath}/${metadata.name}`);
    const startedAtMs = Date.now();
    for (;;) {
      const pods = await this.#listPods();
      const left = pods.map(({ metadata }) => `${metadata.name} ${metadata.uid}: is still there`);
      if (left.length === 0) {
        const { machine } = this.#node;
        const log = new ContainerdLog(machine.containerdLog());
        const leaks = this.#leaks(log.withoutStuck(await this.#reader.read()), pods);
        left.push(...leaks.early, ...findShims(machine, log), ...(quick ? [] : leaks.late));
      }
      if (left.length === 0) return;
      if (Date.now() - startedAtMs > this.#settleMs + (quick ? 0 : 60_000)) {
        for (const what of left) this.#addViolation('nothing is left of a pod', what);
        return;
      }
      await sleep(pollMs);
    }
  }

  #leaks(snapshot: RuntimeSnapshot, pods: readonly Json[]): ReturnType<typeof findLeaks> {
    const { machine, agent } = this.#node;
    return findLeaks(machine, agent, snapshot, new Set(pods.map(({ metadata }) => metadata.uid as string)));
  }

  async #listPods(): Promise<Json[]> {
    return (await this.#http.request('GET', podsPath)).body.items;
  }

  /** What the agent should have said of the faults, and of their end. Quick ones are too short for that. */
  #silences(names: readonly NodeFaultName[], logLength: number, unready: ReadonlySet<string>): string[] {
    if (this.#options.quick) return [];
    const entries = this.#log.entriesSince(logLength);
    return names.flatMap((name) => {
      const { failed, recovered, isUnready }: NodeFault = nodeFaults[name];
      const missing = [failed, recovered].filter((message) => !entries.some(({ msg }) => message?.test(msg) ?? true));
      return [
        ...missing.map((message) => `the agent has not logged ${message}`),
        ...(isUnready === true && unready.size === 0 ? ['/readyz did not fail'] : []),
      ];
    });
  }

  async #untilAgentResponds(): Promise<void> {
    const deadlineMs = Date.now() + agentStartMs;
    while ((await this.#readinessProblem()) === noResponse) {
      if (Date.now() > deadlineMs) throw new Error(`The agent has not started within ${agentStartMs / 1_000} s`);
      await sleep(100);
    }
  }

  async #watchReadiness(isOn: () => boolean, problems: Set<string>): Promise<void> {
    while (isOn()) {
      const problem = await this.#readinessProblem();
      if (problem !== undefined) problems.add(problem);
      await sleep(pollMs);
    }
  }

  /** Undefined if the agent is ready. */
  async #readinessProblem(): Promise<string | undefined> {
    try {
      const response = await fetch(`http://127.0.0.1:${healthzPortOf(this.#node.machine)}/readyz`);
      if (response.ok) return undefined;
      return (await response.text()).split('\n').find((line) => line.startsWith('[-]'));
    } catch {
      return noResponse;
    }
  }

  async #watchRuntime(): Promise<void> {
    while (!this.#isOver) {
      try {
        this.#runLog.add(await this.#reader.read());
      } catch {
        // containerd is down.
      }
      await sleep(pollMs);
    }
  }

  #addViolation(invariant: string, details: string): void {
    this.#violations.push({ invariant, details });
  }
}
