import { expect, it } from 'vitest';
import { checkContainerRuntime, silentLogger } from 'kubelet-status-manager/testing';
import type { Container } from '../../../src/kube/objects/types.ts';
import { SimulatedProcess } from '../simulated-process.ts';
import { ContainerRuns } from '../agent/container-runs.ts';
import type { SimulatedHelper } from '../agent/simulated-volumes.ts';
import { World } from '../world.ts';
import { createMachine } from '../agent/node-runtime.ts';
import { SimulatedCRINode } from './simulated-cri-node.ts';

/** Commands of pods, without volumes. */
const helper = {
  generateRunContainerOptions: async (_: unknown, { command, args }: Container) => ({
    ...{ command: command ?? [], args: args ?? [], envs: [], mounts: [] },
  }),
  getPodDNS: async () => ({ servers: ['10.96.0.10'], searches: [], options: [] }),
  generatePodHostName: () => 'pod',
  lookupRuntimeHandler: async () => '',
} as Partial<SimulatedHelper> as SimulatedHelper;

const container = (...args: string[]): Container => ({ name: 'app', image: 'a:1', command: ['sim'], args });

it.each(['cri', 'containerd', 'none'] as const)(
  'the CRI runtime on the simulated service keeps every rule of the checklist, with events: %s',
  async (kind) => {
    const world = new World(kind);
    let broken: unknown[] = [];
    await world.run(async () => {
      const node = new SimulatedCRINode(createMachine(world, new ContainerRuns(world)), kind);
      const process = new SimulatedProcess(world, 'agent');
      let { runtime, close } = await node.connect(process, silentLogger, helper);
      const results = await checkContainerRuntime(runtime, {
        running: container('forever', 'stop=10:0'),
        completed: container('after=100:0'),
        failed: { container: container('after=100:3'), exitCode: 3, message: 'exit 3' },
        stubborn: container('forever', 'stop=10000000:0'),
        exec: {
          command: ['sim', '1', '5'],
          result: { exitCode: 1, stdout: '', stderr: '' },
          endless: ['sim', '0', '10000000'],
        },
        restart: async () => {
          await close();
          ({ runtime, close } = await node.connect(process, silentLogger, helper));
          return runtime;
        },
        clock: process.clock,
      });
      broken = results.filter(({ passed }) => !passed);
      await close();
      expect([process.timers, node.openConnections]).toEqual([0, 0]);
    });
    expect(broken).toMatchObject(kind === 'none' ? [{ rule: 'exit-event' }] : []);
    // The checklist itself makes UIDs.
    expect(world.violations.filter(({ details }) => !details.includes('checked-runtime'))).toEqual([]);
  },
);
