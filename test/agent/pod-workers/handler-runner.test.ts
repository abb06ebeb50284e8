import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import type { Container, LifecycleHandler } from 'kubelet-status-manager';
import { createHandlerRunner } from 'kubelet-status-manager/agent';
import { FakeClock, FakeContainerRuntime } from 'kubelet-status-manager/testing';

const clock = new FakeClock();
const runtime = new FakeContainerRuntime({ clock });
const runner = createHandlerRunner({ runtime, clock });
const pod = { metadata: { uid: 'uid-1', name: 'web', namespace: 'ns' } };
const server = createServer();

afterEach(() => {
  server.close();
  server.closeAllConnections();
});

function run(handler: LifecycleHandler, container: Container = { name: 'app' }, signal = new AbortController().signal) {
  return runner.run({ pod, container, containerID: 'fake://1', podIP: '127.0.0.1', handler }, signal);
}

it('an HTTP hook is a GET request with the headers of the hook; any response is good', async () => {
  const requests: IncomingMessage[] = [];
  server.on('request', (request, response) => {
    requests.push(request);
    response.writeHead(500).end('no');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await run({ httpGet: { path: '/quit?now=1', port, httpHeaders: [{ name: 'X-Reason', value: 'stop' }] } });
  expect(requests.map(({ method, url, headers }) => [method, url, headers['x-reason']])).toEqual([
    ['GET', '/quit?now=1', 'stop'],
  ]);
});

it('a hook that fails says which one, and why', async () => {
  await expect(run({ httpGet: { path: '/quit', port: 'admin' } })).rejects.toThrow(
    'HTTP lifecycle hook (/quit) for Container "app" in Pod "web_ns(uid-1)" failed - error: invalid port number: admin',
  );
  await expect(run({ exec: { command: ['drain', '-f'] } })).rejects.toThrow(
    'Exec lifecycle hook ([drain -f]) for Container "app" in Pod "web_ns(uid-1)" failed - error: container fake://1 not found',
  );
  await expect(run({})).rejects.toThrow('Cannot run handler: it has neither exec, httpGet nor sleep');
});

it('a pause ends when it is no longer waited for, and leaves no timer', async () => {
  const controller = new AbortController();
  const paused = run({ sleep: { seconds: 10 } }, undefined, controller.signal);
  controller.abort();
  await expect(paused).rejects.toThrow('container terminated before sleep hook finished');
  expect(clock.pendingTimers).toBe(0);
});
