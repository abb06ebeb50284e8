import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer as createTcpServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { proxyFor } from '../../../src/kube/http/proxy.ts';
import { createKubeTransport } from '../../../src/kube/http/transport.ts';
import { kubeConfig } from './kube-configs.ts';
import type { KubeServer } from './kube-server.ts';
import { startKubeServer } from './kube-server.ts';

interface Tunnel extends AsyncDisposable {
  readonly port: number;
  readonly targets: string[];
  readonly authorizations: (string | undefined)[];
}

function pipe(client: Socket, upstream: Socket): void {
  client.on('error', () => upstream.destroy());
  upstream.on('error', () => client.destroy());
  client.pipe(upstream).pipe(client);
}

/** An HTTP proxy that tunnels CONNECT requests, or responses them with `refusal`. */
async function startHTTPProxy(refusal?: string): Promise<Tunnel> {
  const targets: string[] = [];
  const authorizations: (string | undefined)[] = [];
  const sockets = new Set<Socket>();
  const server = createServer();
  server.on('connection', (socket) => sockets.add(socket));
  server.on('connect', (request: IncomingMessage, client: Socket) => {
    targets.push(request.url ?? '');
    authorizations.push(request.headers['proxy-authorization']);
    if (refusal !== undefined) {
      client.end(refusal);
      return;
    }
    const [host = '', port] = (request.url ?? '').split(':');
    const upstream = connect(Number(port), host, () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      pipe(client, upstream);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    targets,
    authorizations,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A SOCKS5 proxy without authentication, for IPv4 and names. */
async function startSocksProxy(address = '127.0.0.1'): Promise<Tunnel> {
  const targets: string[] = [];
  const sockets = new Set<Socket>();
  const server = createTcpServer((client) => {
    sockets.add(client);
    client.once('data', () => {
      client.write(Buffer.from([5, 0]));
      client.once('data', (request: Buffer) => {
        const byName = request[3] === 3;
        const end = byName ? 5 + request[4]! : 8;
        const host = byName ? request.subarray(5, end).toString() : [...request.subarray(4, 8)].join('.');
        const port = request.readUInt16BE(end);
        targets.push(`${host}:${port}`);
        const upstream = connect(port, host, () => {
          client.write(Buffer.from([5, 0, 0, 1, 127, 0, 0, 1, 0, 0]));
          pipe(client, upstream);
        });
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    targets,
    authorizations: [],
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface TcpServer extends AsyncDisposable {
  readonly port: number;
  /** Resolves with the first connection. */
  readonly connected: Promise<void>;
  /** Resolves when no connection is open. */
  quiet(): Promise<void>;
}

async function startTcpServer(onConnection: (socket: Socket) => void): Promise<TcpServer> {
  const sockets = new Set<Socket>();
  let onChange = (): void => {};
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    // Reads, or it would not hear of the other end's FIN.
    socket.on('error', () => {}).on('data', () => {});
    socket.once('close', () => {
      sockets.delete(socket);
      onChange();
    });
    onConnection(socket);
  });
  const connected = new Promise<void>((resolve) => server.once('connection', () => resolve()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    connected,
    async quiet() {
      while (sockets.size > 0) await new Promise<void>((resolve) => (onChange = resolve));
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const hasIPv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === '::1'),
);

describe('proxy-url', () => {
  let server: KubeServer;
  beforeEach(async () => {
    server = await startKubeServer({ tls: true });
  });
  afterEach(async () => {
    await server[Symbol.asyncDispose]();
  });

  it('http: the request goes through the tunnel, the API server is verified, the proxy gets its own credentials only', async () => {
    await using proxy = await startHTTPProxy();
    const config = kubeConfig(server.url, { token: 't' }, { 'proxy-url': `http://me:pw@127.0.0.1:${proxy.port}` });
    const transport = createKubeTransport(config, { env: {} });
    for (let i = 0; i < 5; i++) await transport.request('GET', '/version');
    expect(proxy.targets.length).toBeLessThan(5);
    expect(new Set(proxy.targets)).toEqual(new Set([new URL(server.url).host]));
    expect(new Set(proxy.authorizations)).toEqual(new Set([`Basic ${Buffer.from('me:pw').toString('base64')}`]));
    expect(server.arrived[0]?.headers).toMatchObject({ authorization: 'Bearer t', host: new URL(server.url).host });
    expect(server.arrived[0]?.headers['proxy-authorization']).toBeUndefined();
    await transport.close();
  });

  it('http: a proxy that refuses the tunnel is a network failure, not an abort', async () => {
    await using proxy = await startHTTPProxy('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n');
    const config = kubeConfig(server.url, {}, { 'proxy-url': `http://127.0.0.1:${proxy.port}` });
    const transport = createKubeTransport(config, { env: {} });
    await expect(transport.request('GET', '/version')).rejects.toMatchObject({ kind: 'network' });
    await transport.close();
  });

  it.each(['http', 'socks5'])(
    '%s: a proxy that accepts and closes connections is a network failure, not a hot loop of reconnects',
    async (scheme) => {
      let connections = 0;
      await using proxy = await startTcpServer((socket) => {
        connections++;
        socket.end();
      });
      const config = kubeConfig(server.url, {}, { 'proxy-url': `${scheme}://127.0.0.1:${proxy.port}` });
      const transport = createKubeTransport(config, { env: {} });
      await expect(transport.request('GET', '/version')).rejects.toMatchObject({ kind: 'network' });
      await expect(transport.request('GET', '/version')).rejects.toMatchObject({ kind: 'network' });
      expect(connections).toBe(2);
      await transport.close();
    },
  );

  it.each(['http', 'socks5'])(
    '%s: a silent proxy ends in timeout after connectTimeoutMs, and its socket is closed',
    async (scheme) => {
      await using proxy = await startTcpServer(() => {});
      const config = kubeConfig(server.url, {}, { 'proxy-url': `${scheme}://127.0.0.1:${proxy.port}` });
      const transport = createKubeTransport(config, { env: {}, connectTimeoutMs: 50 });
      await expect(transport.request('GET', '/version')).rejects.toMatchObject({ kind: 'timeout' });
      await proxy.quiet();
      await transport.close();
    },
  );

  it.each(['http', 'https', 'socks5'])(
    '%s: closing the transport closes its socket to a silent proxy',
    async (scheme) => {
      await using proxy = await startTcpServer(() => {});
      const config = kubeConfig(server.url, {}, { 'proxy-url': `${scheme}://127.0.0.1:${proxy.port}` });
      const transport = createKubeTransport(config, { env: {}, connectTimeoutMs: 600_000 });
      const request = transport.request('GET', '/version');
      const ended = Promise.allSettled([request]);
      await proxy.connected;
      await transport.close();
      expect(await ended).toMatchObject([{ status: 'rejected', reason: { kind: 'aborted' } }]);
      await proxy.quiet();
    },
  );

  it.each(['http', 'socks5'])('%s: closing the transport closes its tunnel to a silent API server', async (scheme) => {
    let begin = (): void => {};
    const begun = new Promise<void>((resolve) => (begin = resolve));
    await using silent = await startTcpServer((socket) => socket.once('data', begin));
    await using proxy = await (scheme === 'http' ? startHTTPProxy() : startSocksProxy());
    const url = `https://127.0.0.1:${silent.port}`;
    const config = kubeConfig(url, {}, { 'proxy-url': `${scheme}://127.0.0.1:${proxy.port}` });
    const transport = createKubeTransport(config, { env: {}, connectTimeoutMs: 600_000 });
    const ended = Promise.allSettled([transport.request('GET', '/version')]);
    await begun;
    await transport.close();
    expect(await ended).toMatchObject([{ status: 'rejected', reason: { kind: 'aborted' } }]);
    await silent.quiet();
  });

  it('socks5: the password for the proxy is in no error', async () => {
    await using proxy = await startTcpServer((socket) => socket.once('data', () => socket.end(Buffer.from([5, 255]))));
    const config = kubeConfig(server.url, {}, { 'proxy-url': `socks5://me:s3cret@127.0.0.1:${proxy.port}` });
    const transport = createKubeTransport(config, { env: {} });
    const error: unknown = await transport.request('GET', '/version').catch((reason: unknown) => reason);
    expect(error).toMatchObject({ kind: 'network' });
    expect(inspect(error, { depth: 10 })).not.toContain('s3cret');
    await transport.close();
  });

  it.skipIf(!hasIPv6)('socks5: a proxy can have an IPv6 address', async () => {
    await using proxy = await startSocksProxy('::1');
    const transport = createKubeTransport(kubeConfig(server.url, {}, { 'proxy-url': `socks5://[::1]:${proxy.port}` }), {
      env: {},
    });
    await transport.request('GET', '/version');
    expect(proxy.targets).toEqual([new URL(server.url).host]);
    await transport.close();
  });

  it.each([
    ['http', () => startHTTPProxy()],
    ['socks5', () => startSocksProxy()],
  ])('%s: the API server is verified by tls-server-name, or else by its address', async (scheme, startProxy) => {
    await using proxy = await startProxy();
    await using other = await startKubeServer({ tls: true, certificate: 'server-name' });
    const cluster = { 'proxy-url': `${scheme}://127.0.0.1:${proxy.port}`, 'tls-server-name': 'kube.test' };
    const transport = createKubeTransport(kubeConfig(other.url, {}, cluster), { env: {} });
    await transport.request('GET', '/version');
    await transport.close();
    const mistaken = createKubeTransport(kubeConfig(other.url, {}, { 'proxy-url': cluster['proxy-url'] }), { env: {} });
    await expect(mistaken.request('GET', '/version')).rejects.toMatchObject({
      kind: 'network',
      message: expect.stringContaining('ERR_TLS_CERT_ALTNAME_INVALID') as string,
    });
    await mistaken.close();
    expect(other.arrived).toHaveLength(1);
  });

  it('https: a proxy by address is verified, and not with the CA of the cluster', async () => {
    const transport = createKubeTransport(kubeConfig(server.url, {}, { 'proxy-url': server.url }), { env: {} });
    await expect(transport.request('GET', '/version')).rejects.toMatchObject({
      kind: 'network',
      message: expect.stringContaining('SELF_SIGNED_CERT_IN_CHAIN') as string,
    });
    await transport.close();
  });

  it.each(['socks5', 'socks5h', 'socks'])('%s', async (scheme) => {
    await using proxy = await startSocksProxy();
    const transport = createKubeTransport(
      kubeConfig(server.url, {}, { 'proxy-url': `${scheme}://127.0.0.1:${proxy.port}` }),
      { env: {} },
    );
    await transport.request('GET', '/version');
    expect(proxy.targets).toEqual([new URL(server.url).host]);
    expect(server.arrived).toHaveLength(1);
    await transport.close();
  });

  it('socks5: an API server without TLS', async () => {
    await using proxy = await startSocksProxy();
    await using plain = await startKubeServer();
    const cluster = { 'proxy-url': `socks5://127.0.0.1:${proxy.port}` };
    const transport = createKubeTransport(kubeConfig(plain.url, {}, cluster), { env: {} });
    await transport.request('GET', '/version');
    expect(proxy.targets).toEqual([new URL(plain.url).host]);
    await transport.close();
  });

  it('socks5: a proxy that is gone is a network failure', async () => {
    const { port, ...proxy } = await startSocksProxy();
    await proxy[Symbol.asyncDispose]();
    const config = kubeConfig(server.url, {}, { 'proxy-url': `socks5://127.0.0.1:${port}` });
    const transport = createKubeTransport(config, { env: {} });
    await expect(transport.request('GET', '/version')).rejects.toMatchObject({ kind: 'network' });
    await transport.close();
  });

  it('socks5: a silent API server ends in timeout', async () => {
    await using proxy = await startSocksProxy();
    server.respond = () => {};
    const config = kubeConfig(server.url, {}, { 'proxy-url': `socks5://127.0.0.1:${proxy.port}` });
    const transport = createKubeTransport(config, { env: {}, inactivityTimeoutMs: 50 });
    await expect(transport.request('GET', '/version')).rejects.toMatchObject({ kind: 'timeout' });
    await transport.close();
  });
});

describe('proxy of the environment', () => {
  const https = { HTTPS_PROXY: 'http://proxy:3128' };
  it.each<[string, string, Record<string, string>, string | undefined]>([
    ['none', 'https://kube.example.com', {}, undefined],
    ['HTTPS_PROXY', 'https://kube.example.com', https, 'http://proxy:3128/'],
    ['in lower case', 'https://kube.example.com', { https_proxy: 'http://proxy:3128' }, 'http://proxy:3128/'],
    ['without a scheme', 'https://kube.example.com', { HTTPS_PROXY: 'proxy:3128' }, 'http://proxy:3128/'],
    ['not for http', 'http://kube.example.com', https, undefined],
    ['HTTP_PROXY', 'http://kube.example.com', { HTTP_PROXY: 'http://proxy' }, 'http://proxy/'],
    ['not for https', 'https://kube.example.com', { HTTP_PROXY: 'http://proxy' }, undefined],
    ['never for loopback', 'https://127.0.0.2:6443', https, undefined],
    ['never for ::1', 'https://[::1]:6443', https, undefined],
    ['never for localhost', 'https://localhost:6443', https, undefined],
    ['*', 'https://kube.example.com', { ...https, NO_PROXY: '*' }, undefined],
    ['its name', 'https://kube.example.com', { ...https, NO_PROXY: 'a, kube.example.com' }, undefined],
    ['its domain', 'https://kube.example.com', { ...https, no_proxy: 'Example.com' }, undefined],
    ['its domain with a dot', 'https://kube.example.com', { ...https, NO_PROXY: '.example.com' }, undefined],
    ['its domain with a star', 'https://kube.example.com', { ...https, NO_PROXY: '*.example.com' }, undefined],
    [
      'a dot means subdomains only',
      'https://example.com',
      { ...https, NO_PROXY: '.example.com' },
      'http://proxy:3128/',
    ],
    ['no part of a label', 'https://kubexample.com', { ...https, NO_PROXY: 'example.com' }, 'http://proxy:3128/'],
    ['its address', 'https://10.96.0.1', { ...https, NO_PROXY: '10.96.0.1' }, undefined],
    ['its network', 'https://10.96.0.1', { ...https, NO_PROXY: '10.0.0.0/8' }, undefined],
    [
      'another network',
      'https://10.96.0.1',
      { ...https, NO_PROXY: '192.168.0.0/16,10.0.0.0/33,fd00::/8' },
      'http://proxy:3128/',
    ],
    ['its IPv6 network', 'https://[fd00::1]', { ...https, NO_PROXY: 'fd00::/8' }, undefined],
    ['its small IPv6 network', 'https://[fd00::1]', { ...https, NO_PROXY: 'fd00::/64' }, undefined],
    ['its small network', 'https://10.96.0.1', { ...https, NO_PROXY: '10.96.0.0/16' }, undefined],
    ['its network of one address', 'https://10.96.0.1', { ...https, NO_PROXY: '10.96.0.1/32' }, undefined],
    ['the end of an address', 'https://10.96.0.1', { ...https, NO_PROXY: '96.0.1' }, 'http://proxy:3128/'],
    [
      'entries that are no networks',
      'https://10.96.0.1',
      { ...https, NO_PROXY: '10.0.0.0/8x,10.0.0.0/x8,10.0.0.0/,/' },
      'http://proxy:3128/',
    ],
    [
      'a name with a prefix length, which is no network',
      'https://kube.example.com',
      { ...https, NO_PROXY: 'example.com/8' },
      'http://proxy:3128/',
    ],
    ['an absolute name, beside no entry', 'https://kube.', { ...https, NO_PROXY: ' a,, b ,' }, 'http://proxy:3128/'],
    ['its IPv6 address in brackets', 'https://[fd00::1]', { ...https, NO_PROXY: '[fd00::1]' }, undefined],
    [
      'the default port of http',
      'http://kube.example.com',
      { HTTP_PROXY: 'http://proxy', NO_PROXY: 'kube.example.com:80' },
      undefined,
    ],
    ['its IPv6 address', 'https://[fd00::1]', { ...https, NO_PROXY: 'fd00::1' }, undefined],
    ['its IPv6 address and port', 'https://[fd00::1]:6443', { ...https, NO_PROXY: '[fd00::1]:6443' }, undefined],
    ['its port', 'https://kube.example.com:6443', { ...https, NO_PROXY: 'kube.example.com:6443' }, undefined],
    ['the default port', 'https://kube.example.com', { ...https, NO_PROXY: 'kube.example.com:443' }, undefined],
    [
      'another port',
      'https://kube.example.com:6443',
      { ...https, NO_PROXY: 'kube.example.com:443' },
      'http://proxy:3128/',
    ],
  ])('%s (%s, %j)', (_what, server, env, expected) => {
    expect(proxyFor(new URL(server), undefined, env)?.href).toBe(expected);
  });

  it("the cluster's own proxy-url wins, even for loopback", () => {
    expect(proxyFor(new URL('https://127.0.0.1'), 'http://own', { ...https, NO_PROXY: '*' })?.href).toBe('http://own/');
  });

  it('an unusable proxy URL is refused without being quoted', () => {
    const refusal = (): unknown => proxyFor(new URL('https://k'), undefined, { HTTPS_PROXY: 'socks4://u:secret@p' });
    expect(refusal).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT', path: 'HTTPS_PROXY' }));
    expect(refusal).toThrow('Expected `HTTPS_PROXY` to be an http, https or socks5 URL');
    expect(refusal).not.toThrow(/secret/);
  });
});
