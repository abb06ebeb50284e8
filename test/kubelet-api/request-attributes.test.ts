import { describe, expect, it } from 'vitest';
import { isSubpath, requestAttributes } from '../../src/kubelet-api/request-attributes.ts';

// kubelet: TestIsSubPath.
it.each([
  ['empty', '', '', true],
  ['match 1', 'foo', 'foo', true],
  ['match 2', '/foo', '/foo', true],
  ['match 3', '/foo/', '/foo/', true],
  ['match 4', '/foo/bar', '/foo/bar', true],
  ['subpath of root 1', '/foo', '/', true],
  ['subpath of root 2', '/foo/', '/', true],
  ['subpath of root 3', '/foo/bar', '/', true],
  ['subpath of path 1', '/foo', '/foo', true],
  ['subpath of path 2', '/foo/', '/foo', true],
  ['subpath of path 3', '/foo/bar', '/foo', true],
  ['mismatch 1', '/foo', '/bar', false],
  ['mismatch 2', '/foo', '/foobar', false],
  ['mismatch 3', '/foobar', '/foo', false],
])('isSubpath: %s', (_name, subpath, path, expected) => {
  expect(isSubpath(subpath, path)).toBe(expected);
});

// kubelet: AuthzTestCases with fine-grained authorization.
describe('requestAttributes', () => {
  const verbs = { POST: 'create', GET: 'get', PUT: 'update', PATCH: 'patch', DELETE: 'delete' };
  it.each<[string, readonly string[]]>([
    ['/attach/{podNamespace}/{podID}/{containerName}', ['proxy']],
    ['/attach/{podNamespace}/{podID}/{uid}/{containerName}', ['proxy']],
    ['/checkpoint/{podNamespace}/{podID}/{containerName}', ['checkpoint']],
    ['/configz', ['configz', 'proxy']],
    ['/flagz', ['configz']],
    ['/statusz', ['statusz']],
    ['/containerLogs/{podNamespace}/{podID}/{containerName}', ['proxy']],
    ['/debug/flags/v', ['proxy']],
    ['/debug/pprof/{subpath:*}', ['proxy']],
    ['/exec/{podNamespace}/{podID}/{containerName}', ['proxy']],
    ['/exec/{podNamespace}/{podID}/{uid}/{containerName}', ['proxy']],
    ['/healthz', ['healthz', 'proxy']],
    ['/healthz/log', ['healthz', 'proxy']],
    ['/healthz/ping', ['healthz', 'proxy']],
    ['/healthz/syncloop', ['healthz', 'proxy']],
    ['/logs/', ['log']],
    ['/logs/{logpath:*}', ['log']],
    ['/metrics', ['metrics']],
    ['/metrics/slis', ['metrics']],
    ['/metrics/cadvisor', ['metrics']],
    ['/metrics/probes', ['metrics']],
    ['/metrics/resource', ['metrics']],
    ['/pods/', ['pods', 'proxy']],
    ['/portForward/{podNamespace}/{podID}', ['proxy']],
    ['/portForward/{podNamespace}/{podID}/{uid}', ['proxy']],
    ['/run/{podNamespace}/{podID}/{containerName}', ['proxy']],
    ['/run/{podNamespace}/{podID}/{uid}/{containerName}', ['proxy']],
    ['/runningpods/', ['pods', 'proxy']],
    ['/stats/', ['stats']],
    ['/stats/summary', ['stats']],
  ])('%s', (path, subresources) => {
    for (const [method, verb] of Object.entries(verbs))
      expect(requestAttributes(method, path)).toEqual({ verb, subresources });
  });
});
