import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { StreamingRuntime } from '../../src/node/runtime/streaming-runtime.ts';
import { FakeClock } from 'kubelet-status-manager/testing';
import { containerIDForLogs, serveContainerLogs } from '../../src/kubelet-api/serve-container-logs.ts';
import {
  type KubeletAPIContext,
  type KubeletRequest,
  requireServedPod,
} from '../../src/kubelet-api/kubelet-api-context.ts';
import type { ValidPod } from '../../src/kube/objects/types.ts';
import { testPod } from './test-server.ts';

const ended = { terminated: { exitCode: 0, containerID: 'containerd://last' } };
const unknownEnd = { terminated: { exitCode: 0 } };

// kubelet: TestValidateContainerLogStatus. The last two columns: the container's ID, or the error.
it.each([
  ['running, restarted', { running: {} }, ended, 'containerd://now', 'containerd://last'],
  ['running', { running: {} }, undefined, 'containerd://now', 'previous terminated container "x" in pod "p" not found'],
  [
    'terminated without an ID',
    unknownEnd,
    undefined,
    'container "x" in pod "p" is terminated',
    'previous terminated container "x" in pod "p" not found',
  ],
  ['terminated', ended, undefined, 'containerd://last', 'previous terminated container "x" in pod "p" not found'],
  [
    'terminated twice without an ID',
    unknownEnd,
    unknownEnd,
    'container "x" in pod "p" is terminated',
    'previous terminated container "x" in pod "p" not found',
  ],
  ['terminated before it started', unknownEnd, ended, 'containerd://last', 'containerd://last'],
  ['crash looping', { waiting: { reason: 'CrashLoopBackOff' } }, ended, 'containerd://last', 'containerd://last'],
  [
    'waiting',
    { waiting: { reason: 'ContainerCreating' } },
    undefined,
    'container "x" in pod "p" is waiting to start: ContainerCreating',
    'previous terminated container "x" in pod "p" not found',
  ],
  [
    'ErrImagePull',
    { waiting: { reason: 'ErrImagePull' } },
    undefined,
    'container "x" in pod "p" is waiting to start: image can\'t be pulled',
    'previous terminated container "x" in pod "p" not found',
  ],
  [
    'ImagePullBackOff',
    { waiting: { reason: 'ImagePullBackOff' } },
    undefined,
    'container "x" in pod "p" is waiting to start: trying and failing to pull image',
    'previous terminated container "x" in pod "p" not found',
  ],
])('containerIDForLogs: %s', (_name, state, lastState, expected, expectedPrevious) => {
  const container = { name: 'x', containerID: 'containerd://now', state, ...(lastState && { lastState }) };
  const result = (isPrevious: boolean): string => {
    try {
      return containerIDForLogs('p', { initContainerStatuses: [container] }, 'x', isPrevious);
    } catch (error) {
      return (error as Error).message;
    }
  };
  expect(result(false)).toBe(expected);
  expect(result(true)).toBe(expectedPrevious);
});

it('containerIDForLogs: a container without a status is not available', () => {
  expect(() => containerIDForLogs('p', {}, 'x', false)).toThrow('container "x" in pod "p" is not available');
});

/** Serves the log that `stream` resolves with. `leave` is the client that goes. */
function serve(stream: NonNullable<StreamingRuntime['streamContainerLog']>): {
  readonly served: Promise<void>;
  readonly leave: () => void;
} {
  const gone = new AbortController();
  const status = { containerStatuses: [{ name: 'app', containerID: 'fake://1', state: { running: {} } }] };
  const context = {
    agent: { getPods: () => [testPod('web', status)], statusManager: { getPodStatus: () => undefined } },
    runtime: { streamContainerLog: stream },
    clock: new FakeClock(),
  } as unknown as KubeletAPIContext;
  const request = { segments: ['default', 'web', 'app'], query: new URLSearchParams(), signal: gone.signal };
  const response = { writeHead: () => ({ flushHeaders: () => {} }), write: () => true, end: () => {} };
  const served = serveContainerLogs(
    context,
    request as unknown as KubeletRequest,
    response as unknown as ServerResponse,
  );
  return { served, leave: () => gone.abort() };
}

describe('when the client of a streamed log is gone', () => {
  it('the request ends, though the runtime does not answer', async () => {
    const { served, leave } = serve(() => new Promise(() => {}));
    leave();
    await expect(served).rejects.toMatchObject({ statusCode: 500 });
  });

  it('a stream that yields nothing any more is destroyed', async () => {
    const text = new Readable({ read: () => {} });
    const { served, leave } = serve(async () => text);
    text.push('first line\n');
    await new Promise((resolve) => setImmediate(resolve));
    leave();
    await served;
    expect(text.destroyed).toBe(true);
  });

  it('a stream that the runtime opens later is destroyed', async () => {
    const text = new Readable({ read: () => {} });
    let open = (_text: Readable): void => {};
    const { served, leave } = serve(() => new Promise((resolve) => (open = resolve)));
    leave();
    await expect(served).rejects.toMatchObject({ statusCode: 500 });
    open(text);
    await new Promise((resolve) => setImmediate(resolve));
    expect(text.destroyed).toBe(true);
  });

  it('what a runtime opens later, and is no text, breaks nothing', async () => {
    let open = (_text: Readable): void => {};
    const { served, leave } = serve(() => new Promise((resolve) => (open = resolve)));
    leave();
    await expect(served).rejects.toMatchObject({ statusCode: 500 });
    open(undefined as unknown as Readable);
    // An unhandled rejection would fail the test.
    await new Promise((resolve) => setImmediate(resolve));
  });
});

it('a streamed log that is not an async iterable is refused with 500 and says what it should be', async () => {
  const { served } = serve(async () => ['a line\n'] as unknown as Readable);
  await expect(served).rejects.toMatchObject({
    statusCode: 500,
    message: 'The log is not an async iterable, for example a stream of Node.js',
  });
});

it('a request for a name that two nodes have for a moment is for the newer pod', () => {
  const created = (creationTimestamp: string): ValidPod => {
    const pod = testPod('web');
    return { ...pod, metadata: { ...pod.metadata, creationTimestamp } };
  };
  const [older, newer] = [created('2026-01-02T03:04:05Z'), created('2026-01-02T03:04:07Z')];
  for (const pods of [
    [older, newer],
    [newer, older],
  ]) {
    const context = { agent: { getPods: () => pods } } as unknown as KubeletAPIContext;
    expect(requireServedPod(context, 'default', 'web')).toBe(newer);
  }
});
