import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createSecureServer } from 'node:http2';
import { createServer as createHTTPSServer } from 'node:https';
import { type AddressInfo, createServer as createTCPServer, type Server as TCPServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { TlsOptions } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { HTTPGetAction } from '../../../src/kube/objects/types.ts';
import { FakeClock } from 'kubelet-status-manager/testing';
import { probeHTTP } from '../../../src/node/prober/http-probe.ts';
import { httpProbeRequest } from '../../../src/node/prober/http-probe-request.ts';
import { type ProbeOutcome, UnfinishedProbeError } from '../../../src/node/prober/prober.ts';
import { createSelfSignedCertificate } from '../../../src/shared/x509.ts';

const maxBodyLength = 10 * 1024;
const broken = 'net/http: HTTP/1.x transport connection broken: ';
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

/** A server that sends this to each request, and ends the connection. */
const raw = (response: string): Promise<number> =>
  listen(createTCPServer((socket) => void socket.on('error', () => {}).once('data', () => socket.end(response))));

const serve = (handler: RequestListener): Promise<number> => listen(createServer(handler));

function probe(httpGet: HTTPGetAction, signal = new AbortController().signal): Promise<ProbeOutcome> {
  return probeHTTP(httpProbeRequest(httpGet, { name: 'app' }, '127.0.0.1'), 1000, clock, signal);
}

describe('TestHTTPProbeChecker', () => {
  it.each([
    [200, 'success', 'the body'],
    [204, 'success', ''],
    [299, 'success', 'the body'],
    [300, 'warning', 'Probe terminated redirects, Response body: the body'],
    [399, 'warning', 'Probe terminated redirects, Response body: the body'],
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

  it.each([301, 302, 303, 307, 308])(
    'a redirect %i without Location, or with an empty one, is a warning',
    async (code) => {
      for (const headers of [{}, { location: '' }]) {
        const port = await serve((_, response) => response.writeHead(code, headers).end('ok body'));
        expect(await probe({ port })).toEqual({
          result: 'warning',
          output: 'Probe terminated redirects, Response body: ok body',
        });
      }
    },
  );

  it('sends Expect, Upgrade and Connection of the pod as they are', async () => {
    const port = await serve(({ rawHeaders }, response) => response.end(JSON.stringify(rawHeaders)));
    const server = servers[0] as Server;
    server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) =>
      server.emit('request', request, response),
    );
    const sentWith = async (...headers: string[]): Promise<string[]> => {
      const httpHeaders = headers.map((header) => ({ name: header.split(': ')[0]!, value: header.split(': ')[1]! }));
      const received = JSON.parse((await probe({ port, httpHeaders })).output) as string[];
      const lines = received.flatMap((name, i) => (i % 2 === 0 ? [`${name}: ${received[i + 1]}`] : []));
      return lines.filter((line) => !/^(Host|User-Agent|Accept):/.test(line)).sort();
    };
    expect(await sentWith('Expect: 100-continue', 'Keep-Alive: timeout=5')).toEqual([
      'Connection: close',
      'Expect: 100-continue',
      'Keep-Alive: timeout=5',
    ]);
    expect(await sentWith('Connection: keep-alive')).toEqual(['Connection: close', 'Connection: keep-alive']);
    expect(await sentWith('Connection: close')).toEqual(['Connection: close']);
    expect(await sentWith('Upgrade: websocket', 'Connection: Upgrade')).toEqual([
      'Connection: Upgrade',
      'Upgrade: websocket',
    ]);
    expect(await sentWith('X-Name: Zoë')).toEqual([
      'Connection: close',
      `X-Name: ${Buffer.from('Zoë').toString('latin1')}`,
    ]);
  });

  it('a server that switches protocols fails', async () => {
    const port = await raw('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n');
    const output = 'HTTP probe failed with statuscode: 101';
    const httpHeaders = [{ name: 'Upgrade', value: 'x' }];
    expect(await probe({ port, httpHeaders })).toEqual({ result: 'failure', output });
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

describe('a redirect', () => {
  it('is followed nine times', async () => {
    const urls: unknown[] = [];
    const port = await serve(({ url = '' }, response) => {
      urls.push(url);
      const hops = Number(url.slice(1));
      if (hops > 0) response.writeHead(302, { location: `/${hops - 1}` }).end();
      else response.end('at last');
    });
    expect(await probe({ port, path: '/9' })).toEqual({ result: 'success', output: 'at last' });
    expect(urls).toHaveLength(10);
    const output = 'Get "/0": stopped after 10 redirects';
    expect(await probe({ port, path: '/10' })).toEqual({ result: 'failure', output });
    expect(urls).toHaveLength(20);
  });

  it('keeps the headers of the pod, also its own Referer', async () => {
    const referers: unknown[] = [];
    const port = await serve(({ url, headers }, response) => {
      referers.push([headers.referer, headers['x-name']]);
      if (url === '/') response.writeHead(302, { location: '/a?b=c#d' });
      response.end(url);
    });
    const httpHeaders = [
      { name: 'Referer', value: 'own' },
      { name: 'X-Name', value: 'a' },
    ];
    expect(await probe({ port, httpHeaders })).toEqual({ result: 'success', output: '/a?b=c' });
    expect(referers).toEqual([
      ['own', 'a'],
      ['own', 'a'],
    ]);
  });

  it('may lead to https; back to http there is no Referer', async () => {
    const { pem: cert, key } = createSelfSignedCertificate({ commonName: 'a', hosts: ['localhost'] }, Date.now());
    const referers: unknown[] = [];
    const plain = await serve(({ url, headers }, response) => {
      referers.push(headers.referer);
      if (url === '/') response.writeHead(302, { location: `https://127.0.0.1:${secure}/secure` }).end();
      else response.end('back');
    });
    const secure = await listen(
      createHTTPSServer({ cert, key }, ({ headers }, response) => {
        referers.push(headers.referer);
        response.writeHead(302, { location: `http://127.0.0.1:${plain}/end` }).end();
      }),
    );
    expect(await probe({ port: plain })).toEqual({ result: 'success', output: 'back' });
    expect(referers).toEqual([undefined, `http://127.0.0.1:${plain}/`, undefined]);
  });

  const hasIPv6 = Object.values(networkInterfaces()).some((list) => list?.some(({ address }) => address === '::1'));
  it.runIf(hasIPv6)('on an IPv6 address', async () => {
    const server = createServer(({ url }, response) => {
      if (url === '/') response.writeHead(302, { location: `http://[::1]:${port}/next` });
      response.end(url);
    });
    servers.push(server);
    server.listen(0, '::1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    expect(await probe({ port, host: '::1' })).toEqual({ result: 'success', output: '/next' });
  });
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

  it.each([
    ['nothing', '', 'EOF'],
    ['garbage', 'garbage here\r\n\r\n', `${broken}malformed HTTP status code "here"`],
    [
      'the banner of another protocol',
      'SSH-2.0-OpenSSH_9.2\r\n',
      `${broken}malformed HTTP response "SSH-2.0-OpenSSH_9.2"`,
    ],
    ['no status code', 'HTTP/1.1 abc OK\r\n\r\n', `${broken}malformed HTTP status code "abc"`],
    ['another version', 'HTTP/9.x 200 OK\r\n\r\n', `${broken}malformed HTTP version "HTTP/9.x"`],
    [
      'a header without colon',
      'HTTP/1.1 200 OK\r\nfoo bar\r\n\r\n',
      `${broken}malformed MIME header: missing colon: "foo bar"`,
    ],
    ['half a status line', 'HTTP/1.1 200', `${broken}unexpected EOF`],
    ['half a header', 'HTTP/1.1 200 OK\r\nA: b\r\n', `${broken}unexpected EOF`],
  ])('%s as a response has the message of the kubelet', async (_, response, reason) => {
    const port = await raw(response);
    expect(await probe({ port })).toEqual({ result: 'failure', output: `Get "http://127.0.0.1:${port}/": ${reason}` });
  });

  it('a connection that is reset names both ends', async () => {
    const port = await listen(createTCPServer((socket) => void socket.once('data', () => socket.resetAndDestroy())));
    const { result, output } = await probe({ port });
    expect(result).toBe('failure');
    expect(output.replace(/read tcp 127\.0\.0\.1:\d+/, 'read tcp LOCAL')).toBe(
      `Get "http://127.0.0.1:${port}/": read tcp LOCAL->127.0.0.1:${port}: read: connection reset by peer`,
    );
  });

  it('a body that ends too early is not a failure of the container', async () => {
    for (const header of ['Content-Length: 100\r\n\r\nabc', 'Transfer-Encoding: chunked\r\n\r\n5\r\nabc']) {
      const port = await raw(`HTTP/1.1 200 OK\r\n${header}`);
      await expect(probe({ port })).rejects.toThrow(new UnfinishedProbeError('unexpected EOF'));
    }
  });

  it('a body that does not come in time is not a failure of the container', async () => {
    const headersReceived = (): unknown => setImmediate(() => clock.advance(1000));
    subscribe('http.client.response.finish', headersReceived);
    onTestFinished(() => void unsubscribe('http.client.response.finish', headersReceived));
    const port = await serve((_, response) => {
      response.writeHead(200, { 'content-length': 100 }).write('begin');
    });
    await expect(probe({ port })).rejects.toThrow(
      new UnfinishedProbeError('context deadline exceeded (Client.Timeout or context cancellation while reading body)'),
    );
  });

  it.each([
    ['loop', '/y', 'Get "/y": stopped after 10 redirects'],
    ['another protocol', 'ftp://127.0.0.1/a', 'Get "ftp://127.0.0.1/a": unsupported protocol scheme "ftp"'],
    [
      'nobody listens',
      'http://127.0.0.1:1/a?b=c',
      'Get "http://127.0.0.1:1/a?b=c": dial tcp 127.0.0.1:1: connect: connection refused',
    ],
  ])('the URL of a redirect that fails: %s', async (_, location, output) => {
    const port = await serve((__, response) => response.writeHead(302, { location }).end());
    expect(await probe({ port })).toEqual({ result: 'failure', output });
  });

  it('a header that would be two', async () => {
    const port = await serve((_, response) => response.end());
    const httpHeaders = [{ name: 'X-Name', value: 'a\r\nHost: b' }];
    const output = `Get "http://127.0.0.1:${port}/": net/http: invalid header field value for "X-Name"`;
    expect(await probe({ port, httpHeaders })).toEqual({ result: 'failure', output });
  });

  it('a redirect to something that is no URL', async () => {
    const port = await serve((_, response) => response.writeHead(301, { location: 'http://[::1' }).end());
    const output = `Get "http://127.0.0.1:${port}/": failed to parse Location header "http://[::1": invalid URL`;
    expect(await probe({ port })).toEqual({ result: 'failure', output });
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

  it('HTTP/2 has the Host header of the pod as authority, and no headers of a connection', async () => {
    const { pem: cert, key } = createSelfSignedCertificate({ commonName: 'a', hosts: ['localhost'] }, Date.now());
    const port = await listen(
      createSecureServer({ cert, key }, ({ headers }, response) => response.end(JSON.stringify(headers))),
    );
    const sentWith = async (...httpHeaders: readonly { name: string; value: string }[]): Promise<object> => {
      const { output } = await probe({ scheme: 'HTTPS', port, path: '/live', httpHeaders: [...httpHeaders] });
      return JSON.parse(output) as object;
    };
    const own = { ':method': 'GET', ':scheme': 'https', ':path': '/live', 'user-agent': 'kube-probe/1.37' };
    expect(await sentWith()).toEqual({ ...own, ':authority': `127.0.0.1:${port}`, accept: '*/*' });
    const sent = await sentWith(
      { name: 'Host', value: 'muffins.cupcakes.org' },
      { name: 'Connection', value: 'close' },
      { name: 'Keep-Alive', value: 'timeout=5' },
      { name: 'X-Name', value: 'Zoë' },
    );
    const name = Buffer.from('Zoë').toString('latin1');
    expect(sent).toEqual({ ...own, ':authority': 'muffins.cupcakes.org', accept: '*/*', 'x-name': name });
  });

  it('HTTP/2 has no Upgrade, and a stream that ends without a response fails', async () => {
    const { pem: cert, key } = createSelfSignedCertificate({ commonName: 'a', hosts: ['localhost'] }, Date.now());
    const server = createSecureServer({ cert, key });
    server.on('stream', (stream) => stream.on('error', () => {}).close());
    const port = await listen(server);
    const outputOf = async (...httpHeaders: readonly { name: string; value: string }[]): Promise<string> =>
      (await probe({ scheme: 'HTTPS', port, httpHeaders: [...httpHeaders] })).output;
    expect(await outputOf({ name: 'Upgrade', value: 'x' })).toBe(
      `Get "https://127.0.0.1:${port}/": http2: invalid Upgrade request header: ["x"]`,
    );
    expect(await outputOf()).toBe(
      `Get "https://127.0.0.1:${port}/": http2: server closed the stream without a response`,
    );
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

  it.each([
    ['a plain HTTP server', 'HTTP/1.1 400 Bad Request\r\n\r\n', 'http: server gave HTTP response to HTTPS client'],
    ['a server that closes the connection', '', 'EOF'],
  ])('%s', async (_, response, reason) => {
    const port = await raw(response);
    const output = `Get "https://127.0.0.1:${port}/": ${reason}`;
    expect(await probe({ scheme: 'HTTPS', port })).toEqual({ result: 'failure', output });
  });

  it.each<[string, TlsOptions, string]>([
    ['a client certificate', { requestCert: true, rejectUnauthorized: true }, 'certificate required'],
    [
      'an old version of TLS',
      { maxVersion: 'TLSv1.1', minVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' },
      'protocol version not supported',
    ],
  ])('a server that wants %s: the alert has the name of the kubelet, without numbers', async (_, options, alert) => {
    const { pem: cert, key } = createSelfSignedCertificate({ commonName: 'a', hosts: ['localhost'] }, Date.now());
    const server = createHTTPSServer({ cert, key, ...options }, (__, response) => response.end());
    const port = await listen(server);
    const output = `Get "https://127.0.0.1:${port}/": remote error: tls: ${alert}`;
    expect(await probe({ scheme: 'HTTPS', port })).toEqual({ result: 'failure', output });
  });
});
