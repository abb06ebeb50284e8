import { expect, it, onTestFinished } from 'vitest';
import { createCRIRuntime } from '../../src/cri/create-cri-runtime.ts';
import { createRuntimeHelper } from '../../src/agent/runtime-helper/create-runtime-helper.ts';
import type { Container, ValidPod } from '../../src/kube/objects/types.ts';
import { checkContainerRuntime } from '../../src/testing/index.ts';
import { startContainerd, whyNoContainerd } from './containerd.ts';

const why = whyNoContainerd();
const skipped = why === undefined ? '' : ` (skipped: ${why})`;

function container(fields: Partial<Container>): Container {
  return { name: 'app', image: 'docker.io/library/busybox:1', ...fields };
}
const sh = (script: string, fields: Partial<Container> = {}): Container =>
  container({ command: ['sh', '-c', script], ...fields });

it.skipIf(why !== undefined)(`the CRI runtime on containerd keeps every rule of the checklist${skipped}`, async () => {
  const containerd = await startContainerd(4);
  onTestFinished(() => containerd.stop());
  const rootDirectory = `${containerd.folder}/kubelet`;
  const podLogsDirectory = `${containerd.folder}/logs`;
  const helper = createRuntimeHelper({ rootDirectory, hostIPs: ['127.0.0.1'] });
  onTestFinished(() => helper.close());
  const { volumeManager } = helper;
  const open = async () => {
    const opened = await createCRIRuntime({
      ...{ endpoint: containerd.endpoint, helper, rootDirectory, podLogsDirectory },
      cgroupRoot: '/kubepods-check',
    });
    // The agent does this before it creates the sandbox.
    return Object.assign(opened, { preparePod: (pod: ValidPod) => volumeManager.waitForAttachAndMount(pod, {}) });
  };
  let runtime = await open();
  onTestFinished(() => runtime.close());
  const limits = { cpu: '100m', memory: '64Mi' };
  const results = await checkContainerRuntime(runtime, {
    running: sh('trap "exit 0" TERM; while true; do sleep 0.1; done', {
      resources: { limits, requests: limits },
      volumeMounts: [{ name: 'cache', mountPath: '/cache' }],
    }),
    completed: sh('echo done'),
    failed: { container: sh('printf oops >/dev/termination-log; exit 3'), exitCode: 3, message: 'oops' },
    stubborn: sh('trap "" TERM; while true; do sleep 1; done'),
    unstartable: container({ command: ['no-such-command'] }),
    exec: {
      command: ['sh', '-c', 'echo out; echo err >&2; exit 3'],
      result: { exitCode: 3, stdout: 'out\n', stderr: 'err\n' },
      endless: ['sleep', '1000'],
      modeOfEmptyDir: ['stat', '-c', '%a', '/cache'],
    },
    podLogsDirectory,
    podSpec: { volumes: [{ name: 'cache', emptyDir: {} }] },
    restart: async () => {
      runtime.close();
      return (runtime = await open());
    },
    timeoutMs: 30_000,
  });
  expect(results.filter(({ passed }) => !passed)).toEqual([]);
});
