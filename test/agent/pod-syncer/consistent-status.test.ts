import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ContainerStatusInput, PodSpec, PodStatus, ValidPod } from 'kubelet-status-manager';
import type { ProbeResult, RuntimeContainerStatus } from 'kubelet-status-manager/agent';
import { expectConsistent } from '../../support/consistent-status.ts';
import { podScope } from '../../support/pod-scope.ts';
import { TestAgent } from './test-agent.ts';

const uid = 'uid-1';
const names = ['init', 'sidecar', 'app', 'other'] as const;

/** An agent that checks the statuses that are set while the pod lives. */
class CheckedAgent extends TestAgent {
  readonly #failures: unknown[] = [];
  #before: PodStatus | undefined;

  watch(pod: ValidPod): void {
    this.#before = pod.status as PodStatus | undefined;
    this.manager.subscribe({
      onPodUpdated: (updated, status) => {
        try {
          expectConsistent(updated, status, this.#before);
        } catch (error) {
          this.#failures.push(error);
        }
        this.#before = status;
      },
    });
  }

  /** None, if the statuses are consistent. */
  get failures(): readonly unknown[] {
    return this.#failures;
  }
}

const podOf = (spec: Partial<PodSpec>, status?: object): ValidPod => ({
  metadata: { uid, name: 'web', namespace: 'ns', generation: 1 },
  spec: { containers: [{ name: 'app', image: 'app:1' }], ...spec },
  ...(status !== undefined && { status }),
});

const runArbitrary = fc.record({
  attempt: fc.nat(1),
  state: fc.constantFrom<(RuntimeContainerStatus['state'] | 'lost')[]>(
    'created',
    'running',
    'exited',
    'unknown',
    'lost',
  ),
  exitCode: fc.constantFrom(0, 1),
  probe: fc.constantFrom<(ProbeResult | undefined)[]>('success', 'failure', undefined),
});
/** What the runtime reports of the pod at one moment. */
const reportArbitrary = fc.record({
  runs: fc.tuple(...names.map((name) => runArbitrary.map((run) => ({ name, ...run })))),
  sandbox: fc.record({ attempt: fc.nat(1), ready: fc.boolean() }),
  failing: fc.option(fc.constantFrom(...names)),
  isTerminal: fc.constantFrom(false, false, false, true),
});
type Report = typeof reportArbitrary extends fc.Arbitrary<infer Value> ? Value : never;

/** The sync of a pod that is as reported. What it does to containers after that is of no interest. */
async function sync(agent: TestAgent, pod: ValidPod, { runs, sandbox, failing, isTerminal }: Report): Promise<void> {
  const sandboxID = `sandbox-${sandbox.attempt}`;
  const containers = runs.flatMap(({ state, probe, ...run }): RuntimeContainerStatus[] => {
    const id = `fake://${run.name}-${run.attempt}`;
    if (probe !== undefined) agent.probeResults.readiness.set(id, probe);
    if (state === 'lost') return [];
    return [{ ...run, id, state, sandboxID, createdAtMs: run.attempt, startedAtMs: 0, finishedAtMs: 1000 }];
  });
  const sandboxes = [{ id: sandboxID, ...sandbox, createdAtMs: 0, network: { ip: '10.0.0.1' } }];
  const startFailures = new Map(failing === null ? [] : [[failing, { reason: 'CrashLoopBackOff' }]]);
  const controller = new AbortController();
  const options = {
    signal: controller.signal,
    scope: podScope(),
    syncStatus: { startFailures, cutHooks: new Set<string>(), resourceFailures: undefined },
  };
  const runtimeStatus = { sandboxes, containers, ips: ['10.0.0.1'] };
  const work = isTerminal
    ? agent.syncer.syncTerminatingPod(pod, runtimeStatus, 1, undefined, options)
    : agent.syncer.syncPod('sync', pod, undefined, runtimeStatus, options);
  const done = work.catch(() => {});
  await agent.settle();
  controller.abort();
  await done;
}

const specArbitrary = fc.record<Partial<PodSpec>>({
  restartPolicy: fc.constantFrom('Always', 'OnFailure', 'OnFailure', 'Never'),
  initContainers: fc.constantFrom<PodSpec['initContainers']>(
    [],
    [{ name: 'init', image: 'init:1' }],
    [
      { name: 'init', image: 'init:1' },
      { name: 'sidecar', image: 'sidecar:1', restartPolicy: 'Always' },
    ],
  ),
  containers: fc.constantFrom<PodSpec['containers']>(
    [{ name: 'app', image: 'app:1', readinessProbe: { exec: { command: ['true'] } } }],
    [
      { name: 'app', image: 'app:1' },
      { name: 'other', image: 'other:1', restartPolicy: 'Never' },
    ],
  ),
});

describe('the conditions and the phase of each status that is set follow from its own container statuses', () => {
  it('whatever the runtime reports, in whatever order', async () => {
    await fc.assert(
      fc.asyncProperty(
        specArbitrary,
        fc.array(reportArbitrary, { minLength: 2, maxLength: 8 }),
        async (spec, reports) => {
          const agent = new CheckedAgent();
          // The pod is synced here only. Its worker would see other containers, and sync again and again without a relist.
          await agent.workers.stop();
          const pod = podOf(spec);
          agent.client.put(pod);
          agent.watch(pod);
          for (const report of reports) await sync(agent, pod, report);
          expect(agent.failures).toEqual([]);
        },
      ),
      { numRuns: 40, endOnFailure: true },
    );
  });

  const terminated: ContainerStatusInput['state'] = { terminated: { exitCode: 0 } };
  const run = (name: string, more: Partial<RuntimeContainerStatus> = {}): RuntimeContainerStatus => ({
    ...{ id: `fake://${name}-1`, name, attempt: 1, state: 'running', sandboxID: 'sandbox-0' },
    ...{ createdAtMs: 0, startedAtMs: 0 },
    ...more,
  });
  const sandboxes = [{ id: 'sandbox-0', ready: true, createdAtMs: 0, network: { ip: '10.0.0.1' } }];

  it.each(['OnFailure', 'Never'])(
    'an init container that has completed does not make a running pod Pending, although it runs again: %s',
    async (restartPolicy) => {
      const agent = new CheckedAgent();
      const containers = [run('init'), run('app', { id: 'fake://app-0', attempt: 0 })];
      agent.runtime.put({ uid, name: 'web', namespace: 'ns', sandboxes, containers });
      const status = {
        phase: 'Running',
        initContainerStatuses: [{ name: 'init', ready: true, containerID: 'fake://init-0', state: terminated }],
        containerStatuses: [{ name: 'app', ready: true, containerID: 'fake://app-0', state: { running: {} } }],
      };
      const pod = podOf({ restartPolicy, initContainers: [{ name: 'init', image: 'init:1' }] }, status);
      agent.watch(pod);
      await agent.create(pod);
      await agent.advance(2000);
      expect(agent.failures).toEqual([]);
      expect(agent.status('web')).toMatchObject({ phase: 'Running', initContainerStatuses: [{ state: terminated }] });
    },
  );

  it('a pod with a container that has ended for good is not Ready, although the container runs again', async () => {
    const agent = new CheckedAgent();
    const containers = [run('app'), run('other', { id: 'fake://other-0', attempt: 0 })];
    agent.runtime.put({ uid, name: 'web', namespace: 'ns', sandboxes, containers });
    const status = {
      phase: 'Running',
      containerStatuses: [
        { name: 'app', ready: false, containerID: 'fake://app-0', state: terminated },
        { name: 'other', ready: true, containerID: 'fake://other-0', state: { running: {} } },
      ],
    };
    const spec = { containers: ['app', 'other'].map((name) => ({ name, image: `${name}:1` })) };
    const pod = podOf({ restartPolicy: 'Never', ...spec }, status);
    agent.watch(pod);
    await agent.create(pod);
    await agent.advance(2000);
    expect(agent.failures).toEqual([]);
    expect(agent.status('web')?.conditions).toContainEqual(
      expect.objectContaining({
        ...{ type: 'Ready', status: 'False', reason: 'ContainersNotReady' },
        message: 'containers with unready status: [app]',
      }),
    );
  });
});
