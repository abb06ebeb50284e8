import { it } from 'vitest';
import type { Container, PodSpec } from 'kubelet-status-manager';
import { uniqueName } from '../../contract/pod-api.ts';
import { expectLife } from './expect-life.ts';
import type { Life, Step } from './live-pod.ts';
import { describeOnServers } from './on-servers.ts';

const image = 'app:1';
const app: Container = { name: 'app', image };
const init: Container = { name: 'init', image };
const proxy: Container = { name: 'proxy', image, restartPolicy: 'Always' };

const exit =
  (container: string, exitCode: number): Step =>
  (pod) =>
    pod.exit(container, { exitCode });
const remove: Step = (pod) => pod.delete();

interface Case {
  readonly title: string;
  readonly spec?: PodSpec;
  readonly life: Life;
  /** How often each container is started. */
  readonly starts: Readonly<Record<string, number>>;
}

const cases: readonly Case[] = [
  {
    title: 'a plain pod runs until it is deleted',
    life: [
      'Pending',
      '(Pending: app ContainerCreating)',
      ['Running Ready: app running', remove],
      '(Running Ready terminating: app running)',
      'Failed terminating: app exit 143',
      'gone',
    ],
    starts: { app: 1 },
  },
  {
    title: 'a job completes, and its pod is deleted later',
    spec: { restartPolicy: 'Never' },
    life: [
      'Pending',
      '(Pending: app ContainerCreating)',
      ['Running Ready: app running', exit('app', 0)],
      '(Running: app exit 0)',
      ['Succeeded: app exit 0', remove],
      'Succeeded terminating: app exit 0',
      'gone',
    ],
    starts: { app: 1 },
  },
  {
    title: 'a job fails with its exit code',
    spec: { restartPolicy: 'Never' },
    life: [
      'Pending',
      '(Pending: app ContainerCreating)',
      ['Running Ready: app running', exit('app', 42)],
      '(Running: app exit 42)',
      ['Failed: app exit 42', remove],
      'Failed terminating: app exit 42',
      'gone',
    ],
    starts: { app: 1 },
  },
  {
    title: 'a container that fails is restarted immediately, then put off, and deleted while it waits',
    spec: { restartPolicy: 'OnFailure' },
    life: [
      'Pending',
      '(Pending: app ContainerCreating)',
      ['Running Ready: app running', exit('app', 3)],
      '(Running: app exit 3)',
      ['Running Ready: app#1 running after exit 3', exit('app', 4)],
      // As in the kubelet, the next sync shows that it was put off, in which it is started.
      ['Running: app#1 exit 4 after exit 3', remove],
      '(Running terminating: app#1 exit 4 after exit 3)',
      '(Running terminating: app#1 CrashLoopBackOff after exit 4)',
      // The run before the last may have been removed from the runtime by then, as in the kubelet.
      '(Running terminating: app#1 exit 4 after exit 4)',
      '(Failed terminating: app#1 exit 4 after exit 3)',
      '(Failed terminating: app#1 exit 4 after exit 4)',
      'gone',
    ],
    starts: { app: 2 },
  },
  {
    title: 'a container that was restarted is deleted while it runs: the status shows how both runs ended',
    life: [
      'Pending',
      '(Pending: app ContainerCreating)',
      ['Running Ready: app running', exit('app', 3)],
      '(Running: app exit 3)',
      ['Running Ready: app#1 running after exit 3', remove],
      '(Running Ready terminating: app#1 running after exit 3)',
      '(Running terminating: app#1 exit 143 after exit 3)',
      'Failed terminating: app#1 exit 143 after exit 3',
      'gone',
    ],
    starts: { app: 2 },
  },
  {
    title: 'an init container, a sidecar and a container start one after the other',
    spec: { initContainers: [init, proxy], restartPolicy: 'Never' },
    life: [
      'Pending',
      '(Pending: init PodInitializing, proxy PodInitializing, app PodInitializing)',
      ['Pending: init running, proxy PodInitializing, app PodInitializing', exit('init', 0)],
      '(Pending: init exit 0, proxy PodInitializing, app PodInitializing)',
      '(Pending: init exit 0, proxy running, app PodInitializing)',
      ['Running Ready: init exit 0, proxy running, app running', exit('app', 0)],
      '(Running: init exit 0, proxy running, app exit 0)',
      '(Running: init exit 0, proxy exit 143, app exit 0)',
      ['Succeeded: init exit 0, proxy exit 143, app exit 0', remove],
      'Succeeded terminating: init exit 0, proxy exit 143, app exit 0',
      'gone',
    ],
    starts: { init: 1, proxy: 1, app: 1 },
  },
  {
    title: 'an init container that fails is restarted, and the others wait for it',
    spec: { initContainers: [init] },
    life: [
      'Pending',
      '(Pending: init PodInitializing, app PodInitializing)',
      ['Pending: init running, app PodInitializing', exit('init', 1)],
      '(Pending: init exit 1, app PodInitializing)',
      ['Pending: init#1 running after exit 1, app PodInitializing', exit('init', 0)],
      '(Pending: init#1 exit 0 after exit 1, app PodInitializing)',
      ['Running Ready: init#1 exit 0 after exit 1, app running', remove],
      '(Running Ready terminating: init#1 exit 0 after exit 1, app running)',
      'Failed terminating: init#1 exit 0 after exit 1, app exit 143',
      'gone',
    ],
    starts: { init: 2, app: 1 },
  },
  {
    title: 'a sidecar that fails is restarted while the container keeps running',
    spec: { initContainers: [proxy] },
    life: [
      'Pending',
      '(Pending: proxy PodInitializing, app PodInitializing)',
      '(Pending: proxy running, app PodInitializing)',
      ['Running Ready: proxy running, app running', exit('proxy', 1)],
      '(Running: proxy exit 1, app running)',
      ['Running Ready: proxy#1 running after exit 1, app running', remove],
      '(Running Ready terminating: proxy#1 running after exit 1, app running)',
      'Failed terminating: proxy#1 exit 143 after exit 1, app exit 143',
      'gone',
    ],
    starts: { proxy: 2, app: 1 },
  },
  {
    title: 'activeDeadlineSeconds: the pod fails with DeadlineExceeded and its container is killed',
    spec: { activeDeadlineSeconds: 2 },
    life: [
      'Pending',
      '(Pending: app ContainerCreating)',
      'Running Ready: app running',
      // The phase waits until nothing runs.
      '(Running: app running)',
      ['Failed (DeadlineExceeded): app exit 143', remove],
      'Failed (DeadlineExceeded) terminating: app exit 143',
      'gone',
    ],
    starts: { app: 1 },
  },
];

describeOnServers(
  'the life of a pod',
  () => ({}),
  (cluster) => {
    for (const { title, spec, life, starts } of cases) {
      it.concurrent(title, async (context) => {
        const pod = await cluster().create(uniqueName('life'), { containers: [app], ...spec });
        await expectLife(pod, life, context);
        context.expect(pod.starts).toEqual(starts);
      });
    }
  },
);
