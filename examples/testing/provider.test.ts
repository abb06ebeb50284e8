// vitest: the checklist for a provider of virtual nodes, against a cloud that answers at once.
import { expect, it, onTestFinished } from 'vitest';
import { checkPodProvider } from 'kubelet-status-manager/testing';
import { Cloud } from '../virtual-kubelet-provider/cloud.ts';
import { cloudProvider } from '../virtual-kubelet-provider/provider.ts';

it('the provider keeps every rule', async () => {
  const cloud = new Cloud({ slowMs: 0, failures: 0, forgotten: 0 });
  const url = await cloud.start();
  onTestFinished(() => cloud.close());

  const results = await checkPodProvider(cloudProvider(url), {
    running: { name: 'app', image: 'app:1' },
    completed: { name: 'app', image: 'app:ends-after-1s' },
    exec: { command: ['echo', 'hello'], exitCode: 0, stdout: 'hello\n' },
    restart: async () => cloudProvider(url),
  });

  expect(results.filter(({ passed }) => !passed)).toEqual([]);
});
