import { EventEmitter, once } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { RuntimePod } from '../../src/node/runtime/container-runtime.ts';
import type { ContainerIO, StreamingRuntime } from '../../src/node/runtime/streaming-runtime.ts';
import { testPod, TestServer } from './test-server.ts';
import { WebSocketClient } from './web-socket-client.ts';

const container = { id: 'fake://1', name: 'app', image: 'app:1', state: 'running' };
const pod = { uid: 'uid-web', name: 'web', namespace: 'default', containers: [container] } as unknown as RuntimePod;
const execPath = '/exec/default/web/app?command=sh&input=1&output=1&error=1';

async function serverWith(methods: StreamingRuntime): Promise<TestServer> {
  const runtime = { listPods: async () => [pod], getPod: async () => pod, execSync: async () => null as never };
  const server = await TestServer.start({ runtime: { ...runtime, ...methods } });
  server.pods.push(testPod('web'));
  return server;
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
    const client = await new WebSocketClient(server, execPath, protocol).open();
    expect(client.socket.protocol).toBe(protocol);
    expect(await client.status()).toEqual({ metadata: {}, status: 'Success' });
    expect(client.text(1)).toBe('hello ');
    expect(calls).toEqual([['fake://1', ['sh'], false]]);
  });

  it('stdin ends when the client closes its channel', async () => {
    await using server = await serverWith({ exec: async (_id, _command, io) => cat(io) });
    const client = await new WebSocketClient(server, execPath).open();
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
    const client = await new WebSocketClient(server, execPath).open();
    client.send(0, 'x'.repeat(900_000));
    client.send(0, 'x'.repeat(900_000));
    expect(await client.status()).toMatchObject({ status: 'Success' });
  });

  it('stdin has everything that the client sends, however slowly it is read, and no other channel ends it', async () => {
    let bytes = 0;
    await using server = await serverWith({
      exec: async (_id, _command, io) => {
        for await (const chunk of io.stdin!) bytes += (chunk as Buffer).length;
        return 0;
      },
    });
    const client = await new WebSocketClient(server, execPath).open();
    client.send(255, Uint8Array.of(1));
    for (let i = 0; i < 3; i++) client.send(0, 'x'.repeat(900_000));
    client.send(255, Uint8Array.of(0));
    expect(await client.status()).toMatchObject({ status: 'Success' });
    expect(bytes).toBe(2_700_000);
  });

  it('input for a command without stdin is ignored, and so are channels that are for the client', async () => {
    const sizes: unknown[] = [];
    const exec: StreamingRuntime['exec'] = (_id, _command, io) => {
      expect([io.stdin, io.stderr]).toEqual([undefined, undefined]);
      return new Promise((resolve) => io.onResize((size) => (sizes.push(size), resolve(0))));
    };
    await using server = await serverWith({ exec });
    const client = await new WebSocketClient(server, '/exec/default/web/app?command=sh&output=1').open();
    client.send(0, 'abc');
    client.send(1, 'abc');
    client.send(255, Uint8Array.of(0));
    client.send(4, '{"Width":80,"Height":24}');
    expect(await client.status()).toMatchObject({ status: 'Success' });
    expect(sizes).toEqual([{ width: 80, height: 24 }]);
  });

  it('stdin ends when the client is gone', async () => {
    let end = (_text: string): void => {};
    const ended = new Promise<string>((resolve) => (end = resolve));
    await using server = await serverWith({
      exec: async (_id, _command, io) => {
        let text = '';
        for await (const chunk of io.stdin!) {
          text += (chunk as Buffer).toString();
          io.stdout!.write(chunk);
        }
        end(text);
        return 0;
      },
    });
    const client = await new WebSocketClient(server, execPath).open();
    client.socket.on('error', () => {});
    client.send(0, 'abc');
    await expect.poll(() => client.text(1)).toBe('abc');
    client.socket.terminate();
    expect(await ended).toBe('abc');
  });

  it('a message above 1 MiB ends the connection, and nothing else', async () => {
    await using server = await serverWith({ exec: async (_id, _command, io) => cat(io) });
    const client = await new WebSocketClient(server, execPath).open();
    client.socket.on('error', () => {});
    const closed = once(client.socket, 'close');
    client.send(0, 'x'.repeat(2 ** 20));
    await closed;
    expect((await server.get('/healthz')).text).toBe('ok');
  });

  it('a client that sends pings and does not wait for the replies is disconnected: they would take memory', async () => {
    await using server = await serverWith({ exec: async (_id, _command, io) => cat(io) });
    const client = await new WebSocketClient(server, execPath).open();
    client.socket.on('error', () => {});
    const closed = once(client.socket, 'close');
    for (let i = 0; i < 10_000; i++) client.socket.ping();
    await closed;
    expect((await server.get('/healthz')).text).toBe('ok');
  });

  it('the newest protocol that client and server have is used, wherever the client names it', async () => {
    await using server = await serverWith({ exec: async () => 0 });
    const client = new WebSocketClient(server, execPath, ['channel.k8s.io', 'v4.channel.k8s.io', 'v5.channel.k8s.io']);
    await client.open();
    expect(client.socket.protocol).toBe('v5.channel.k8s.io');
    expect(await client.status()).toMatchObject({ status: 'Success' });
  });

  it('the status has the exit code or the error', async () => {
    let result: () => number = () => 7;
    await using server = await serverWith({ exec: async () => result() });
    expect(await (await new WebSocketClient(server, execPath).open()).status()).toEqual({
      metadata: {},
      status: 'Failure',
      reason: 'NonZeroExitCode',
      message: 'command terminated with non-zero exit code: 7',
      details: { causes: [{ reason: 'ExitCode', message: '7' }] },
    });
    result = () => {
      throw new Error('no such command');
    };
    expect(await (await new WebSocketClient(server, execPath).open()).status()).toMatchObject({
      ...{ status: 'Failure', reason: 'InternalError', code: 500 },
      message: 'Internal error occurred: no such command',
      details: { causes: [{ message: 'no such command' }] },
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
    const client = await new WebSocketClient(server, `${execPath}&tty=1`).open();
    for (const text of [
      ...['{"Width":80,"Height":24}', 'nonsense', '{"Width":"80","Height":24}', '{"Width":80,"Height":"24"}', '{}'],
      '{"Width":100,"Height":30}',
    ])
      client.send(4, text);
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
    const client = await new WebSocketClient(server, execPath).open();
    client.socket.on('error', () => {});
    await started;
    if (who === 'client') client.socket.terminate();
    else await server.close();
    await expect(aborted).resolves.toEqual([]);
  });

  it('attach connects to the main process', async () => {
    const attach: StreamingRuntime['attach'] = async (_id, io) => void (await cat(io));
    await using server = await serverWith({ attach });
    const client = await new WebSocketClient(server, '/attach/default/web/app?input=1&output=1&error=1').open();
    client.send(0, 'abc');
    client.send(255, Uint8Array.of(0));
    expect(await client.status()).toMatchObject({ status: 'Success' });
    expect(client.text(1)).toBe('abc');
  });

  it.each([
    ['no protocol', { connection: 'Upgrade', upgrade: 'websocket' }],
    ['another protocol', { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-protocol': 'channel.k8s.io' }],
  ])('%s is refused by name', async (_name, headers) => {
    await using server = await serverWith({ exec: async () => 0 });
    expect(await server.get(execPath, { headers })).toMatchObject({
      status: 501,
      text: 'Only SPDY/3.1, or WebSockets with the protocol v5.channel.k8s.io or v4.channel.k8s.io, are supported',
    });
  });
});
