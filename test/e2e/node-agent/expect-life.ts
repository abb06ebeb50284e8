import type { TestContext } from 'vitest';
import { allowedHistory, type Life, type LivePod } from './live-pod.ts';

/**
 * A back-off; the node authorizer of kube-apiserver, which for a moment does not know a new pod; and a mirror pod
 * that is there when it is to be created, and gone when it is read.
 */
const expectedErrors =
  /CrashLoopBackOff|no relationship found between node|Failed to create mirror pod .*404 NotFound: pods /;

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
