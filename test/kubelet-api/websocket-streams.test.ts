import { EventEmitter, once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { RuntimePod } from '../../src/agent/runtime/container-runtime.ts';
import type { ContainerIO, StreamingRuntime } from '../../src/agent/runtime/streaming-runtime.ts';
import { testPod, TestServer } from './test-server.ts';

const container = { id: 'fake://1', name: 'app', image: 'app:1', state: 'running' };
const pod = { uid: 'uid-web', name: 'web', namespace: 'default', containers: [container] } as unknown as RuntimePod;
const execPath = '/exec/default/web/app?command=sh&input=1&output=1&error=1';

async function serverWith(methods: StreamingRuntime): Promise<TestServer> {
  const runtime = { listPods: async () => [pod], getPod: async () => pod, execSync: async () => null as never };
  const server = await TestServer.start({ runtime: { ...runtime, ...methods } });
  server.pods.push(testPod('web'));
  return server;
}

class Client {
  readonly socket: WebSocket;
  readonly #received: Buffer[] = [];

  constructor(server: TestServer, path = execPath, protocol = 'v5.channel.k8s.io') {
    this.socket = new WebSocket(`wss://127.0.0.1:${server.port}${path}`, protocol, {
      headers: { authorization: 'Bearer admin-token' },
      rejectUnauthorized: false,
    });
    this.socket.on('message', (data: Buffer) => this.#received.push(data));
  }

  async open(): Promise<this> {
    await once(this.socket, 'open');
    return this;
  }

  send(channel: number, content: string | Uint8Array): void {
    this.socket.send(Buffer.concat([Buffer.from([channel]), Buffer.from(content)]));
  }

  text(channel: number): string {
    const messages = this.#received.filter((message) => message[0] === channel);
    return Buffer.concat(messages.map((message) => message.subarray(1))).toString();
  }

  /** The status that the server sends before it closes the connection. */
  async status(): Promise<object> {
    if (this.socket.readyState !== WebSocket.CLOSED) await once(this.socket, 'close');
    return JSON.parse(this.text(3)) as object;
  }
}

/** Runs `cat`, with errors in upper case. */
async function cat(io: ContainerIO): Promise<number> {
  for await (const chunk of io.stdin!) {
    io.stdout!.write(chunk);
    io.stderr!.write((chunk as Buffer).toString().toUpperCase());
  }
  return 0;
}

describe('exec over WebSockets, for a runtime without a streaming server', () => {
  it('the Node declares that it has WebSockets', async () => {
    await using server = await serverWith({ exec: async (_id, _command, io) => cat(io) });
    expect(server.features).toEqual(['ExtendWebSocketsToKubelet']);
    await using other = await serverWith({ getExec: async () => '' });
    expect(other.features).toEqual([]);
  });

  it.each(['v5.channel.k8s.io', 'v4.channel.k8s.io'])('%s: streams and success', async (protocol) => {
    const calls: unknown[] = [];
    const exec: StreamingRuntime['exec'] = async (id, command, io) => {
      calls.push([id, command, io.tty]);
      io.stdout!.write('hello ');
      return 0;
    };
    await using server = await serverWith({ exec });
    const client = await new Client(server, execPath, protocol).open();
    expect(client.socket.protocol).toBe(protocol);
    expect(await client.status()).toEqual({ metadata: {}, status: 'Success' });
    expect(client.text(1)).toBe('hello ');
    expect(calls).toEqual([['fake://1', ['sh'], false]]);
  });

  it('stdin ends when the client closes its channel', async () => {
    await using server = await serverWith({ exec: async (_id, _command, io) => cat(io) });
    const client = await new Client(server).open();
    client.send(0, 'abc');
    client.send(0, 'x'.repeat(100_000));
    client.send(255, Uint8Array.of(0));
    expect(await client.status()).toMatchObject({ status: 'Success' });
    expect(client.text(1)).toBe(`abc${'x'.repeat(100_000)}`);
    expect(client.text(2)).toBe(`ABC${'X'.repeat(100_000)}`);
  });

  it('a command need not read its input', async () => {
    await using server = await serverWith({
      exec: async (_id, _command, io) => {
        await once(io.stdin!, 'readable');
        return 0;
      },
    });
    const client = await new Client(server).open();
    client.send(0, 'x'.repeat(900_000));
    client.send(0, 'x'.repeat(900_000));
    expect(await client.status()).toMatchObject({ status: 'Success' });
  });

  it('the status has the exit code or the error', async () => {
    let result: () => number = () => 7;
    await using server = await serverWith({ exec: async () => result() });
    expect(await (await new Client(server).open()).status()).toEqual({
      metadata: {},
      status: 'Failure',
      reason: 'NonZeroExitCode',
      message: 'command terminated with non-zero exit code: 7',
      details: { causes: [{ reason: 'ExitCode', message: '7' }] },
    });
    result = () => {
      throw new Error('no such command');
    };
    expect(await (await new Client(server).open()).status()).toMatchObject({
      ...{ status: 'Failure', reason: 'InternalError', code: 500 },
      message: 'Internal error occurred: no such command',
    });
  });

  it('passes on the size of the terminal, and ignores an invalid size', async () => {
    const sizes: unknown[] = [];
    const exec: StreamingRuntime['exec'] = (_id, _command, io) =>
      new Promise((resolve) => {
        expect([io.tty, io.stderr]).toEqual([true, undefined]);
        io.onResize((size) => {
          sizes.push(size);
          if (sizes.length === 2) resolve(0);
        });
      });
    await using server = await serverWith({ exec });
    const client = await new Client(server, `${execPath}&tty=1`).open();
    for (const text of ['{"Width":80,"Height":24}', 'nonsense', '{"Width":100,"Height":30}']) client.send(4, text);
    await client.status();
    expect(sizes).toEqual([
      { width: 80, height: 24 },
      { width: 100, height: 30 },
    ]);
  });

  it.each(['client', 'server'])('the command is aborted when the %s closes the connection', async (who) => {
    const events = new EventEmitter();
    const [started, aborted] = [once(events, 'started'), once(events, 'aborted')];
    const exec: StreamingRuntime['exec'] = (_id, _command, _io, { signal } = {}) =>
      new Promise((resolve) => {
        signal!.addEventListener('abort', () => {
          events.emit('aborted');
          resolve(137);
        });
        events.emit('started');
      });
    await using server = await serverWith({ exec });
    const client = await new Client(server).open();
    client.socket.on('error', () => {});
    await started;
    if (who === 'client') client.socket.terminate();
    else await server.close();
    await expect(aborted).resolves.toEqual([]);
  });

  it('attach connects to the main process', async () => {
    const attach: StreamingRuntime['attach'] = async (_id, io) => void (await cat(io));
    await using server = await serverWith({ attach });
    const client = await new Client(server, '/attach/default/web/app?input=1&output=1&error=1').open();
    client.send(0, 'abc');
    client.send(255, Uint8Array.of(0));
    expect(await client.status()).toMatchObject({ status: 'Success' });
    expect(client.text(1)).toBe('abc');
  });

  it.each([
    ['SPDY', { connection: 'Upgrade', upgrade: 'SPDY/3.1' }],
    ['another protocol', { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-protocol': 'channel.k8s.io' }],
  ])('%s is refused by name', async (_name, headers) => {
    await using server = await serverWith({ exec: async () => 0 });
    expect(await server.get(execPath, { headers })).toMatchObject({
      status: 501,
      text: 'Only WebSockets with the protocol v5.channel.k8s.io or v4.channel.k8s.io are supported',
    });
  });
});
