import { it } from 'vitest';
import type { Container } from 'kubelet-status-manager';
import { uniqueName } from '../../contract/pod-api.ts';
import { expectLife } from './expect-life.ts';
import type { Life, Step } from './live-pod.ts';
import { describeOnServers } from './on-servers.ts';

const app: Container = { name: 'app', image: 'app:1' };
const probeOf = (command: string) => ({ exec: { command: [command] }, periodSeconds: 1, failureThreshold: 1 });

/** A command that a test lets succeed or fail. */
type Switches = (command: string, succeeds: boolean) => Step;

interface Case {
  readonly title: string;
  /** Its probes are commands with names of their own. */
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  /** Commands that succeed from the beginning. */
  readonly succeeding?: readonly string[];
  readonly life: (set: Switches) => Life;
  readonly starts: Readonly<Record<string, number>>;
}

const remove: Step = (pod) => pod.delete();
const inTurn =
  (...steps: readonly Step[]): Step =>
  async (pod) => {
    for (const step of steps) await step(pod);
  };

const cases: readonly Case[] = [
  {
    title: 'readiness: Ready follows the probe, and the container is not restarted',
    containers: [{ ...app, readinessProbe: probeOf('is-ready') }],
    life: (set) => [
      'Pending',
      '(Pending: app ContainerCreating)',
      ['Running: app running', set('is-ready', true)],
      ['Running Ready: app running', set('is-ready', false)],
      ['Running: app running', remove],
      '(Running terminating: app running)',
      'Failed terminating: app exit 143',
      'gone',
    ],
    starts: { app: 1 },
  },
  {
    title: 'startup: a container has started, and is ready, when its probe says so',
    containers: [{ ...app, startupProbe: { ...probeOf('has-started'), failureThreshold: 100 } }],
    life: (set) => [
      'Pending',
      '(Pending: app ContainerCreating)',
      ['Running: app starting', set('has-started', true)],
      '(Running: app running)',
      ['Running Ready: app running', remove],
      '(Running Ready terminating: app running)',
      'Failed terminating: app exit 143',
      'gone',
    ],
    starts: { app: 1 },
  },
  {
    title: 'startup: a container that does not start is killed, and started again',
    containers: [{ ...app, startupProbe: { ...probeOf('starts'), failureThreshold: 2 } }],
    life: (set) => [
      'Pending',
      '(Pending: app ContainerCreating)',
      'Running: app starting',
      '(Running: app exit 143)',
      ['Running: app#1 starting after exit 143', set('starts', true)],
      '(Running: app#1 running after exit 143)',
      ['Running Ready: app#1 running after exit 143', remove],
      '(Running Ready terminating: app#1 running after exit 143)',
      'Failed terminating: app#1 exit 143 after exit 143',
      'gone',
    ],
    starts: { app: 2 },
  },
  {
    title: 'liveness: a container that fails is killed, and started again',
    containers: [{ ...app, livenessProbe: probeOf('is-alive') }],
    succeeding: ['is-alive'],
    life: (set) => [
      'Pending',
      '(Pending: app ContainerCreating)',
      ['Running Ready: app running', set('is-alive', false)],
      '(Running: app exit 143)',
      ['Running Ready: app#1 running after exit 143', inTurn(set('is-alive', true), remove)],
      '(Running Ready terminating: app#1 running after exit 143)',
      'Failed terminating: app#1 exit 143 after exit 143',
      'gone',
    ],
    starts: { app: 2 },
  },
  {
    title: 'a sidecar that has not started keeps the containers after it waiting',
    initContainers: [
      {
        name: 'proxy',
        image: 'proxy:1',
        restartPolicy: 'Always',
        startupProbe: { ...probeOf('proxy-started'), failureThreshold: 100 },
      },
    ],
    containers: [app],
    life: (set) => [
      'Pending',
      '(Pending: proxy PodInitializing, app PodInitializing)',
      ['Pending: proxy starting, app PodInitializing', set('proxy-started', true)],
      '(Pending: proxy running, app PodInitializing)',
      ['Running Ready: proxy running, app running', remove],
      '(Running Ready terminating: proxy running, app running)',
      'Failed terminating: proxy exit 143, app exit 143',
      'gone',
    ],
    starts: { proxy: 1, app: 1 },
  },
];

describeOnServers(
  'probes',
  () => ({}),
  (cluster) => {
    for (const { title, containers, initContainers = [], succeeding = [], life, starts } of cases) {
      it.concurrent(title, async (context) => {
        const set = (command: string, succeeds: boolean): void => {
          cluster().commands.set(command, () => (succeeds ? Promise.resolve() : Promise.reject(new Error('no'))));
        };
        const commands = [...containers, ...initContainers].flatMap(({ readinessProbe, startupProbe, livenessProbe }) =>
          [readinessProbe, startupProbe, livenessProbe].flatMap((probe) => probe?.exec?.command ?? []),
        );
        for (const command of commands) set(command, succeeding.includes(command));
        const pod = await cluster().create(uniqueName('probed'), { containers, initContainers });
        await expectLife(
          pod,
          life((command, succeeds) => () => set(command, succeeds)),
          context,
        );
        context.expect(pod.starts).toEqual(starts);
      });
    }
  },
);
