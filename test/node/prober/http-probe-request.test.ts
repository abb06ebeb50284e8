import { describe, expect, it } from 'vitest';
import type { Container } from 'kubelet-status-manager';
import type { HTTPGetAction } from '../../../src/kube/objects/types.ts';
import { joinHostPort, resolveContainerPort } from '../../../src/node/prober/container-port.ts';
import { expandCommand } from '../../../src/node/prober/exec-probe.ts';
import { httpProbeRequest, lifecycleUserAgent } from '../../../src/node/prober/http-probe-request.ts';

const container: Container = { name: 'app', ports: [{ name: 'found', containerPort: 93 }] };
const requestOf = (httpGet: Partial<HTTPGetAction>): ReturnType<typeof httpProbeRequest> =>
  httpProbeRequest({ port: 80, ...httpGet }, container, '127.0.0.1');

describe('TestGetURLParts', () => {
  it.each([-1, 0, 65_536, '', '-1', 'not-found'])('port %j does not exist', (port) => {
    expect(() => requestOf({ port })).toThrow(typeof port === 'string' ? /^port ".*" not found$/ : /^invalid port/);
  });

  it.each<[Partial<HTTPGetAction>, string]>([
    [{ port: 'found' }, 'http://127.0.0.1:93/'],
    [{ port: 76 }, 'http://127.0.0.1:76/'],
    [{ host: 'hostname', port: 76, path: 'path' }, 'http://hostname:76/path'],
  ])('%j is %s', (httpGet, url) => {
    expect(requestOf(httpGet).url).toBe(url);
  });
});

describe('TestResolveContainerPort', () => {
  it('uses the first of two ports with the same name, and does not match numbers as names', () => {
    const ports = [
      { name: 'web', containerPort: 1 },
      { name: 'web', containerPort: 2 },
      { name: '80', containerPort: 3 },
    ];
    expect(resolveContainerPort('web', { name: 'app', ports })).toBe(1);
    expect(resolveContainerPort('80', { name: 'app', ports })).toBe(3);
    expect(resolveContainerPort(80, { name: 'app', ports })).toBe(80);
    expect(() => resolveContainerPort('web', { name: 'app' })).toThrow('port "web" not found');
  });
});

describe('a port', () => {
  it.each([1, 65_535])('%d is valid', (port) => expect(resolveContainerPort(port, { name: 'app' })).toBe(port));

  it.each([0, -1, 65_536, 1.5, Number.NaN])('%d is invalid, also as that of a name', (port) => {
    const message = `invalid port number: ${port}`;
    expect(() => resolveContainerPort(port, { name: 'app' })).toThrow(message);
    const ports = [{ name: 'web', containerPort: port }];
    expect(() => resolveContainerPort('web', { name: 'app', ports })).toThrow(message);
  });

  it('without a name is the first unnamed one', () => {
    const ports = [{ name: 'web', containerPort: 1 }, { containerPort: 2 }];
    expect(resolveContainerPort('', { name: 'app', ports })).toBe(2);
  });

  it.each([
    ['10.0.0.7', '10.0.0.7:80'],
    ['web.example', 'web.example:80'],
    ['fd00::1', '[fd00::1]:80'],
    ['', ':80'],
  ])('of %s: %s', (host, address) => expect(joinHostPort(host, 80)).toBe(address));
});

describe('TestFormatURL', () => {
  it.each([
    ['https', '', '/'],
    ['HTTPS', '/path', '/path'],
    ['', '?foo', '/?foo'],
    ['HTTP', '/path?bar=a b#fragment', '/path?bar=a%20b'],
    ['HTTP', 'http://other:1/a/../b', '/a/../b'],
    ['HTTP', '//other', '/'],
    ['HTTP', '/ä b/%41/"', '/%C3%A4%20b/%41/%22'],
    ['HTTP', '/100%/x?y', '/100%25/x%3Fy'],
  ])('%s %j asks for %s', (scheme, path, expected) => {
    const request = requestOf({ scheme, path });
    expect([request.scheme, request.path]).toEqual([scheme.toLowerCase() || 'http', expected]);
  });

  it.each([
    ['path', '/path'],
    ["/a/../b;c=d,e!$&'()*+:@~[1]-_.", "/a/../b;c=d,e!$&'()*+:@~[1]-_."],
    ['/a?b#c', '/a?b'],
    ['/a#c?b', '/a'],
    ['#c', '/'],
    ['ftp://other/a', '/a'],
    ['a+b-c.d://other/a', '/a'],
    ['1a://other/a', '/1a://other/a'],
    ['/a://other/b', '/a://other/b'],
    ['//other?a', '/?a'],
    ['/%zz?a#b', '/%25zz%3Fa%23b'],
    ['/%4', '/%254'],
    ['/%41%4g', '/%2541%254g'],
    ['/a?b=%41&c=^"', '/a?b=%41&c=^"'],
    ['/a?ä=\t', '/a?%C3%A4=%09'],
    ['/😀', '/%F0%9F%98%80'],
  ])('a path %j asks for %s', (path, expected) => {
    expect(requestOf({ path }).path).toBe(expected);
    expect(requestOf({ path }).url).toBe(`http://127.0.0.1:80${expected}`);
  });

  it('without a path asks for /, and without a scheme by http', () => {
    expect(requestOf({})).toMatchObject({ url: 'http://127.0.0.1:80/', scheme: 'http', host: '127.0.0.1', path: '/' });
  });

  it('an IPv6 address is in brackets', () => {
    expect(httpProbeRequest({ port: 80 }, container, 'fd00::1').url).toBe('http://[fd00::1]:80/');
  });
});

describe('Test_v1HeaderToHTTPHeader', () => {
  it('names are canonical, values of one name are kept in order', () => {
    const headers = [
      { name: 'x-muffins-or-CUPCAKES', value: 'muffins' },
      { name: 'X-Muffins-Or-Cupcakes', value: 'cupcakes' },
      { name: '__proto__', value: 'x' },
    ];
    const sent = requestOf({ httpHeaders: headers }).headers;
    expect(sent.get('X-Muffins-Or-Cupcakes')).toEqual(['muffins', 'cupcakes']);
    expect(sent.get('__proto__')).toEqual(['x']);
  });
});

describe('TestHeaderConversion', () => {
  it.each<[string, string, string | undefined]>([
    ['user-agent', 'foo/1.0', 'foo/1.0'],
    ['User-Agent', '', undefined],
    ['Accept', 'text/html', 'text/html'],
    ['Accept', '', undefined],
    ['Accept-Encoding', '', ''],
    ['Host', '', undefined],
    ['host', 'muffins.cupcakes.org', 'muffins.cupcakes.org'],
    ['Transfer-Encoding', 'chunked', undefined],
  ])('%s: %j is sent as %j', (name, value, expected) => {
    const { headers } = requestOf({ httpHeaders: [{ name, value }] });
    const [, values] = [...headers].find(([key]) => key.toLowerCase() === name.toLowerCase()) ?? [];
    expect(values?.[0]).toBe(expected);
  });

  it('of a header that may occur only once, the first value is sent', () => {
    const headers = ['User-Agent', 'Host', 'Accept'].flatMap((name) => [
      { name, value: 'first' },
      { name, value: 'second' },
    ]);
    expect([...requestOf({ httpHeaders: headers }).headers]).toEqual([
      ['User-Agent', ['first']],
      ['Host', ['first']],
      ['Accept', ['first', 'second']],
    ]);
  });

  it.each(['Content-Length', 'Trailer', 'Transfer-Encoding'])('%s is not sent', (name) => {
    expect(requestOf({ httpHeaders: [{ name, value: '1' }] }).headers.has(name)).toBe(false);
  });

  it('a hook has its own User-Agent', () => {
    const { headers } = httpProbeRequest({ port: 80 }, container, '127.0.0.1', lifecycleUserAgent);
    expect(headers.get('User-Agent')).toEqual(['kube-lifecycle/1.37']);
  });

  it('the defaults', () => {
    expect([...requestOf({}).headers]).toEqual([
      ['User-Agent', ['kube-probe/1.37']],
      ['Accept', ['*/*']],
    ]);
  });
});

describe('the command of an exec probe', () => {
  it.each([
    ['some $(A) $(B)', 'some script $(B)'],
    ['$$(A) $(A', '$(A) $(A'],
    ['$A $ $(FROM)', '$A $ '],
  ])('%j runs as %j', (command, expected) => {
    const env = [
      { name: 'A', value: 'script' },
      { name: 'FROM', valueFrom: {} },
    ];
    expect(expandCommand([command], env)).toEqual([expected]);
  });

  it('stays as it is without variables', () => expect(expandCommand(['a', '$(A)'], undefined)).toEqual(['a', '$(A)']));
});
