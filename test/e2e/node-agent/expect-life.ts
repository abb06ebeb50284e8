import type { TestContext } from 'vitest';
import { allowedHistory, type Life, type LivePod } from './live-pod.ts';

/** A back-off; and the node authorizer of kube-apiserver, which for a moment does not know a new pod. */
const expectedErrors = /CrashLoopBackOff|no relationship found between node/;

/** Lives the life of a pod, and expects that the API server has shown nothing else, and that nothing runs afterwards. */
export async function expectLife(pod: LivePod, life: Life, { expect, onTestFailed }: TestContext): Promise<void> {
  const { history } = pod.cluster;
  onTestFailed(() => console.log(`${pod.name}:\n  ${[...pod.history, ...pod.logLines].join('\n  ')}`));
  await pod.live(life);
  expect(pod.history).toEqual(allowedHistory(pod.history, life));
  expect(history.problems).toEqual([]);
  expect(pod.logLines.filter((line) => line.startsWith('error') && !expectedErrors.test(line))).toEqual([]);
  if (pod.history.at(-1) === 'gone') expect(pod.runs).toBe(false);
}
