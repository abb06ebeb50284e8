import { expect, it } from 'vitest';
import type { RuntimePod } from '../../src/node/runtime/container-runtime.ts';
import type { ContainerIO, StreamingRuntime, StreamOptions } from '../../src/node/runtime/streaming-runtime.ts';
import { SPDYClient } from './spdy-client.ts';
import { testPod, TestServer } from './test-server.ts';

const container = { id: 'fake://1', name: 'app', image: 'app:1', state: 'running' };
const pod = { uid: 'uid-web', name: 'web', namespace: 'default', containers: [container] } as unknown as RuntimePod;
const execPath = '/exec/default/web/app?command=sh&input=1&output=1&error=1';
const protocol = 'v4.channel.k8s.io';

async function serverWith(methods: StreamingRuntime, tty = false): Promise<TestServer> {
  const runtime = { listPods: async () => [pod], getPod: async () => pod, execSync: async () => null as never };
  const server = await TestServer.start({ runtime: { ...runtime, ...methods } });
  const web = testPod('web');
  server.pods.push({ ...web, spec: { containers: web.spec!.containers!.map((one) => ({ ...one, tty })) } });
  return server;
}

/** Opens the streams as kubectl does: the error stream first. Resolves with their IDs. */
async function open(server: TestServer, path: string, types: readonly string[]): Promise<[SPDYClient, ...number[]]> {
  const client = await SPDYClient.connect(server, path, protocol);
  const ids: number[] = [];
  for (const streamtype of ['error', ...types]) ids.push(await client.open({ streamtype }));
  return [client, ...ids];
}

it('exec over SPDY: streams, and the exit code after all output', async () => {
  const calls: unknown[] = [];
  const exec: StreamingRuntime['exec'] = async (id, command, io) => {
    calls.push([id, command, io.tty]);
    for await (const chunk of io.stdin!) {
      io.stdout!.write(chunk);
      io.stderr!.write((chunk as Buffer).toString().toUpperCase());
    }
    return 3;
  };
  await using server = await serverWith({ exec });
  const [client, error, stdin, stdout, stderr] = await open(server, execPath, ['stdin', 'stdout', 'stderr']);
  const { closed } = client;
  // It is no input.
  for (let i = 0; i < 10; i++) await client.data(stdout!, 'x'.repeat(32_768));
  await client.data(stdin!, 'abc');
  await client.data(stdin!, 'x'.repeat(100_000), true);
  await expect.poll(() => client.stream(error!).isEnded).toBe(true);
  expect(client.stream(stdout!)).toEqual({ text: `abc${'x'.repeat(100_000)}`, isReplied: true, isEnded: true });
  expect(client.stream(stderr!)).toEqual({ text: `ABC${'X'.repeat(100_000)}`, isReplied: true, isEnded: true });
  expect(JSON.parse(client.stream(error!).text)).toMatchObject({
    ...{ status: 'Failure', reason: 'NonZeroExitCode', details: { causes: [{ reason: 'ExitCode', message: '3' }] } },
  });
  expect(calls).toEqual([['fake://1', ['sh'], false]]);
  await closed;
});

it('a terminal has the sizes of the client, each of which is a line', async () => {
  const sizes: unknown[] = [];
  const exec: StreamingRuntime['exec'] = (_id, _command, io) =>
    new Promise((resolve) => io.onResize((size) => sizes.push(size) === 2 && resolve(0)));
  await using server = await serverWith({ exec });
  const path = '/exec/default/web/app?command=sh&output=1&error=1&tty=1';
  const [client, error, , resize] = await open(server, path, ['stdout', 'resize']);
  await client.data(resize!, '{"Width":80,"Hei');
  await client.data(resize!, 'ght":24}\nno size\n{"Width":81,"Height":25}\n');
  await expect.poll(() => client.stream(error!).text).toContain('"Success"');
  expect(sizes).toEqual([
    { width: 80, height: 24 },
    { width: 81, height: 25 },
  ]);
});

it('a command that fails, and has not read its input, is told to the client, whose connection ends', async () => {
  await using server = await serverWith({ exec: () => Promise.reject(new Error('no shell')) });
  const [client, error, stdin] = await open(server, execPath, ['stdin', 'stdout', 'stderr']);
  const { closed } = client;
  for (let i = 0; i < 512; i++) void client.data(stdin!, 'x'.repeat(32_768));
  await expect.poll(() => client.stream(error!).text).toContain('Internal error occurred: no shell');
  // Unread input would become a reset, which may discard the status.
  await expect.poll(() => client.connection.writableLength).toBe(0);
  server.clock.advance(500);
  await closed;
});

it('attach has the streams that the client opens, and the terminal that the container has', async () => {
  const seen: Partial<StreamOptions>[] = [];
  const attach: StreamingRuntime['attach'] = async (_id, { tty, stdin, stdout, stderr }: ContainerIO) => {
    seen.push({ tty, stdin: stdin !== undefined, stdout: stdout !== undefined, stderr: stderr !== undefined });
  };
  await using server = await serverWith({ attach }, true);
  const [client, error] = await open(server, '/attach/default/web/app?output=1&error=1', ['stdout', 'stderr']);
  await expect.poll(() => client.stream(error!).text).toContain('"Success"');
  expect(seen).toEqual([{ tty: true, stdin: false, stdout: true, stderr: false }]);
});

it('a client that is gone ends the input and aborts the command', async () => {
  let call: { readonly io: ContainerIO; readonly signal: AbortSignal } | undefined;
  const exec: StreamingRuntime['exec'] = (_id, _command, io, { signal } = {}) => {
    call = { io, signal: signal! };
    return new Promise(() => {});
  };
  await using server = await serverWith({ exec });
  const [client] = await open(server, execPath, ['stdin', 'stdout', 'stderr']);
  await expect.poll(() => call?.signal.aborted).toBe(false);
  client.connection.destroy();
  await expect.poll(() => [call!.signal.aborted, call!.io.stdin!.resume().readableEnded]).toEqual([true, true]);
});

it('a client that has not opened all streams within 30 s is disconnected, and one that has is not', async () => {
  await using server = await serverWith({ exec: () => new Promise(() => {}) });
  const [complete, , , stdout] = await open(server, execPath, ['stdin', 'stderr', 'stdout']);
  const [slow, error] = await open(server, execPath, ['stdin', 'stdout']);
  const { closed } = slow;
  await expect.poll(() => [complete.stream(stdout!), slow.stream(error!)].every((one) => one.isReplied)).toBe(true);
  server.clock.advance(29_999);
  await slow.ping(1);
  await expect.poll(() => slow.pings).toEqual(['00000001']);
  server.clock.advance(1);
  await closed;
  await complete.ping(1);
  await expect.poll(() => complete.pings).toEqual(['00000001']);
  complete.connection.destroy();
});

it('streams that nobody asked for are reset; older protocols, and those of WebSockets, are refused', async () => {
  await using server = await serverWith({ exec: async () => 0 });
  const timers = server.clock.pendingTimers;
  const client = await SPDYClient.connect(server, execPath, protocol);
  const ids = [await client.open({ streamtype: 'resize' }), await client.open({})];
  await expect.poll(() => ids.map((id) => client.stream(id).reset)).toEqual([5, 5]);
  client.connection.destroy();
  for (const protocols of [
    {},
    { 'x-stream-protocol-version': 'v3.channel.k8s.io' },
    { 'sec-websocket-protocol': 'v5.channel.k8s.io' },
  ]) {
    const headers = { connection: 'Upgrade', upgrade: 'SPDY/3.1', ...protocols };
    expect(await server.get(execPath, { headers })).toMatchObject({
      status: 403,
      text: 'unable to upgrade: the protocol of the streams must be v4.channel.k8s.io',
    });
  }
  // None waits for streams any more.
  await expect.poll(() => server.clock.pendingTimers).toBe(timers);
});
