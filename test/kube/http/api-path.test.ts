import { describe, expect, it } from 'vitest';
import { checkPath, isHeartbeat, pathSegment, podPath, queryString } from '../../../src/kube/http/api-path.ts';

it.each<[string, boolean]>([
  ['/api/v1/nodes/node-1', true],
  ['/api/v1/nodes/node-1/status', true],
  ['/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-1', true],
  ['/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases', true],
  ['/apis/coordination.k8s.io/v1/namespaces/default/leases/leader', true],
  ['/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leasesX', false],
  ['/x/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases', false],
  ['/api/v1/nodes', false],
  ['/api/v1/nodes/node-1/proxy', false],
  ['/api/v1/nodes/node-1/status/x', false],
  ['/x/api/v1/nodes/node-1', false],
  ['/api/v1/namespaces/default/pods/nodes/status', false],
])('%s is a heartbeat: %s', (path, expected) => {
  expect(isHeartbeat(path)).toBe(expected);
});

describe('pathSegment', () => {
  it.each([
    ['web-0', 'web-0'],
    ['a b?c#d', 'a%20b%3Fc%23d'],
    ['system:node', 'system%3Anode'],
    ['...', '...'],
    ['ü', '%C3%BC'],
  ])('%j is %s', (name, segment) => {
    expect(pathSegment(name, 'name')).toBe(segment);
    expect(podPath('ns', name)).toBe(`/api/v1/namespaces/ns/pods/${segment}`);
    expect(podPath(name, 'web')).toBe(`/api/v1/namespaces/${segment}/pods/web`);
  });

  it.each(['', '.', '..', 'a/b', '../x', 'a%2fb', undefined, 7])('no object has the name %j', (name) => {
    const refused = expect.objectContaining({ code: 'INVALID_ARGUMENT', path: 'nodeName' }) as Error;
    expect(() => pathSegment(name as string, 'nodeName')).toThrow(refused);
    expect(() => pathSegment(name as string, 'nodeName')).toThrow('to be a name without `/` and `%`');
  });
});

describe('checkPath', () => {
  it.each(['/api/v1/nodes/node-1', '/', '/api/v1/namespaces/a%20b', '/a/...', '/a/.b', '/a/b.', '/a%2ee'])(
    'accepts %s',
    (path) => {
      expect(() => checkPath(path)).not.toThrow();
    },
  );

  it.each([
    ...['', 'api/v1', 'https://evil/api', '/a?b', '/a#b', String.raw`/a\b`, '/a b', '/a\n', '//evil/api', '/a//b'],
    ...['/.', '/..', '/a/../b', '/a/./b', '/a/..', '/a/%2e%2e/b', '/a/%2E/b', '/a/.%2e', '/a%2fb', '/a%2Fb', '/a%5cb'],
  ])('refuses %j, which could be another path', (path) => {
    expect(() => checkPath(path)).toThrow('to be an absolute path without query and dot segments');
  });
});

it.each([
  [undefined, ''],
  [{}, ''],
  [{ a: undefined }, ''],
  [{ a: 1, b: undefined, c: true, d: 'x y&z' }, '?a=1&c=true&d=x+y%26z'],
  [{ a: '', b: 0, c: false }, '?a=&b=0&c=false'],
])('queryString: %j is %j', (query, expected) => {
  expect(queryString(query)).toBe(expected);
});
