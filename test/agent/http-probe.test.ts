import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createSecureServer } from 'node:http2';
import { type AddressInfo, createServer as createTCPServer, type Server as TCPServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { HTTPGetAction } from '../../src/kube/types.ts';
import { FakeClock } from 'kubelet-status-manager/testing';
import { probeHTTP } from '../../src/agent/prober/http-probe.ts';
import { httpProbeRequest } from '../../src/agent/prober/http-probe-request.ts';
import type { ProbeOutcome } from '../../src/agent/prober/prober.ts';
import { createSelfSignedCertificate } from '../../src/shared/x509.ts';

const maxBodyLength = 10 * 1024;
let clock: FakeClock;
let servers: TCPServer[];
beforeEach(() => {
  clock = new FakeClock();
  servers = [];
});
afterEach(() => {
  assert.equal(clock.pendingTimers, 0);
  for (const server of servers) {
    (server as Server).closeAllConnections?.();
    server.close();
  }
});

async function listen(server: TCPServer): Promise<number> {
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const serve = (handler: RequestListener): Promise<number> => listen(createServer(handler));

function probe(httpGet: HTTPGetAction, signal = new AbortController().signal): Promise<ProbeOutcome> {
  return probeHTTP(httpProbeRequest(httpGet, { name: 'app' }, '127.0.0.1'), 1000, clock, signal);
}

describe('TestHTTPProbeChecker', () => {
  it.each([
    [200, 'success', 'the body'],
    [204, 'success', ''],
    [304, 'warning', 'Probe terminated redirects, Response body: '],
    [400, 'failure', 'HTTP probe failed with statuscode: 400'],
    [404, 'failure', 'HTTP probe failed with statuscode: 404'],
    [500, 'failure', 'HTTP probe failed with statuscode: 500'],
  ])('%i is a %s; a failure does not show the body', async (statusCode, result, output) => {
    const port = await serve((_, response) => response.writeHead(statusCode).end('the body'));
    expect(await probe({ port })).toEqual({ result, output });
  });

  it('sends these headers and no others, on a connection of its own', async () => {
    const port = await serve(({ rawHeaders }, response) => response.end(JSON.stringify(rawHeaders)));
    const { output } = await probe({ port });
    const received = JSON.parse(output) as string[];
    const names = received.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase());
    expect(names.sort()).toEqual(['accept', 'connection', 'host', 'user-agent']);
    expect(received).toEqual(expect.arrayContaining(['close', 'kube-probe/1.37', '*/*', `127.0.0.1:${port}`]));
  });

  it('sends the headers of the pod, Host included', async () => {
    const port = await serve(({ headers }, response) => response.end(JSON.stringify(headers)));
    const httpHeaders = [
      { name: 'host', value: 'muffins.cupcakes.org' },
      { name: 'X-Muffins-Or-Cupcakes', value: 'muffins' },
      { name: 'Accept', value: '' },
      { name: 'Accept-Encoding', value: 'gzip' },
    ];
    const { output } = await probe({ port, httpHeaders });
    expect(JSON.parse(output)).toEqual({
      host: 'muffins.cupcakes.org',
      'x-muffins-or-cupcakes': 'muffins',
      'accept-encoding': 'gzip',
      'user-agent': 'kube-probe/1.37',
      connection: 'close',
    });
  });

  it.each([301, 302, 307, 308])(
    'a redirect %i is followed, and its target determines the result',
    async (statusCode) => {
      let isBroken = false;
      const port = await serve(({ url }, response) => {
        if (url === '/') response.writeHead(statusCode, { location: '/new' }).end();
        else response.writeHead(isBroken ? 500 : 200).end();
      });
      expect((await probe({ port })).result).toBe('success');
      isBroken = true;
      expect((await probe({ port })).result).toBe('failure');
    },
  );

  it('a redirect without Location: 308 is a warning, 302 a failure', async () => {
    const port = await serve(({ url }, response) => response.writeHead(Number(url?.slice(1))).end('ok body'));
    expect(await probe({ port, path: '/308' })).toEqual({
      result: 'warning',
      output: 'Probe terminated redirects, Response body: ok body',
    });
    expect(await probe({ port, path: '/302' })).toEqual({
      result: 'failure',
      output: `Get "http://127.0.0.1:${port}/302": 302 response missing Location header`,
    });
  });
});

describe('TestHTTPProbeChecker_NonLocalRedirects', () => {
  const handler: RequestListener = ({ url = '' }, response) => {
    const location = new URL(url, 'http://x').searchParams.get('loc');
    if (location !== null) response.writeHead(302, { location }).end('moved');
    else if (url === '/loop') response.writeHead(302, { location: '/loop' }).end();
    else response.writeHead(url === '/success' ? 200 : 500).end();
  };
  it.each([
    ['local success', '/success', 'success'],
    ['local fail', '/fail', 'failure'],
    ['newport success', 'http://127.0.0.1:PORT/success', 'success'],
    ['newport fail', 'http://127.0.0.1:PORT/fail', 'failure'],
    ['bogus nonlocal', 'http://0.0.0.0/fail', 'warning'],
    ['redirect loop', '/loop', 'failure'],
  ])('%s', async (_, redirect, result) => {
    const port = await serve(handler);
    const location = redirect.replace('PORT', String(await serve(handler)));
    expect((await probe({ port, path: `/redirect?loc=${encodeURIComponent(location)}` })).result).toBe(result);
  });
});

it('TestHTTPProbeChecker_HostHeaderPreservedAfterRedirect', async () => {
  const hosts: unknown[] = [];
  const port = await serve(({ url, headers }, response) => {
    hosts.push([headers.host, headers.referer]);
    if (url === '/redirect') response.writeHead(302, { location: '/next' });
    if (url === '/next') response.writeHead(302, { location: `http://127.0.0.1:${port}/success` });
    response.end();
  });
  await probe({ port, path: '/redirect', httpHeaders: [{ name: 'Host', value: 'www.success.com' }] });
  expect(hosts).toEqual([
    ['www.success.com', undefined],
    ['www.success.com', `http://127.0.0.1:${port}/redirect`],
    [`127.0.0.1:${port}`, `http://127.0.0.1:${port}/next`],
  ]);
});

describe('TestHTTPProbeChecker_PayloadTruncated', () => {
  it.each([maxBodyLength - 1, maxBodyLength, maxBodyLength + 1])('a body of %i bytes', async (length) => {
    const port = await serve((_, response) => response.end('a'.repeat(length)));
    const { result, output } = await probe({ port });
    expect([result, output.length]).toEqual(['success', Math.min(length, maxBodyLength)]);
  });

  it('a body without end', async () => {
    const port = await serve((_, response) => {
      const timer = setInterval(() => response.write('a'.repeat(1024)), 1);
      response.on('close', () => clearInterval(timer));
    });
    expect((await probe({ port })).output).toHaveLength(maxBodyLength);
  });
});

describe('failures', () => {
  it('no connection', async () => {
    const port = await serve(() => {});
    servers[0]!.close();
    const output = `Get "http://127.0.0.1:${port}/": dial tcp 127.0.0.1:${port}: connect: connection refused`;
    expect(await probe({ port })).toEqual({ result: 'failure', output });
  });

  it('a response that does not come in time', async () => {
    const port = await serve(() => clock.advance(1000));
    const reason = 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)';
    expect(await probe({ port })).toEqual({ result: 'failure', output: `Get "http://127.0.0.1:${port}/": ${reason}` });
  });

  it('a connection that is lost while the body is read is not a failure of the container', async () => {
    const port = await serve((_, response) => {
      response.writeHead(200, { 'content-length': 100 }).write('begin', () => response.destroy());
    });
    await expect(probe({ port })).rejects.toThrow('the connection was lost while reading body');
  });

  it('a server that closes every connection is asked once', async () => {
    let connections = 0;
    const port = await listen(
      createTCPServer((socket) => {
        connections++;
        socket.resume().end();
      }),
    );
    expect((await probe({ port })).result).toBe('failure');
    expect(connections).toBe(1);
  });

  it('a pod without address', async () => {
    const request = httpProbeRequest({ port: 80 }, { name: 'app' }, '');
    const outcome = await probeHTTP(request, 1000, clock, new AbortController().signal);
    expect(outcome).toEqual({ result: 'failure', output: 'Get "http://:80/": http: no Host in request URL' });
  });

  it('a result that is no longer needed is not waited for', async () => {
    const controller = new AbortController();
    const port = await serve(() => controller.abort());
    expect((await probe({ port }, controller.signal)).result).toBe('failure');
  });
});

describe('https', () => {
  it.each([
    ['HTTP/1.1 and HTTP/2', true],
    ['HTTP/2 alone', false],
  ])('a server with %s and a certificate that nobody knows', async (_, allowHTTP1) => {
    const { pem: cert, key } = createSelfSignedCertificate({ commonName: 'a', hosts: ['localhost'] }, Date.now());
    const port = await listen(
      createSecureServer({ cert, key, allowHTTP1 }, ({ httpVersion, headers }, response) => {
        response.end(`${httpVersion} ${headers['user-agent']}`);
      }),
    );
    expect(await probe({ scheme: 'HTTPS', port })).toEqual({ result: 'success', output: '2.0 kube-probe/1.37' });
  });

  it('the TLS server name is that of the URL, not of the Host header', async () => {
    const { pem: cert, key } = createSelfSignedCertificate({ commonName: 'a', hosts: ['localhost'] }, Date.now());
    const names: unknown[] = [];
    const server = createSecureServer({ cert, key, allowHTTP1: true }, (_, response) => response.end());
    server.on('secureConnection', (socket: { servername: unknown }) => names.push(socket.servername));
    const port = await listen(server);
    const httpHeaders = [{ name: 'Host', value: 'muffins.cupcakes.org' }];
    expect((await probe({ scheme: 'HTTPS', port, host: 'localhost', httpHeaders })).result).toBe('success');
    expect((await probe({ scheme: 'HTTPS', port, httpHeaders })).result).toBe('success');
    expect(names).toEqual(['localhost', false]);
  });
});
