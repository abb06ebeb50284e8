import { describe, expect, it } from 'vitest';
import { requestOf } from '../../../src/api-server/faults/fault-match.ts';
import { fault } from '../../../src/api-server/faults/fault.ts';
import { HTTPFaults } from '../../../src/api-server/faults/http-faults.ts';
import { FakePodClient } from '../../../src/testing/fake-pod-client.ts';
import { systemClock } from '../../../src/shared/clock.ts';

describe('the request info of an HTTP request', () => {
  const pods = '/api/v1/namespaces/ns/pods';
  it.each([
    ['GET', `${pods}/p`, 'get pods ns p'],
    ['PUT', `${pods}/p?fieldManager=x`, 'update pods ns p'],
    ['PATCH', `${pods}/p/status`, 'patch pods/status ns p'],
    ['DELETE', `${pods}/p`, 'delete pods ns p'],
    ['POST', pods, 'create pods ns'],
    ['POST', `${pods}/p/binding`, 'create pods/binding ns p'],
    ['GET', pods, 'list pods ns'],
    ['DELETE', pods, 'deletecollection pods ns'],
    ['GET', '/api/v1/pods?watch=true&resourceVersion=1', 'watch pods'],
    ['GET', '/api/v1/pods?watch=0', 'list pods'],
    ['GET', '/api/v1/nodes/n', 'get nodes n'],
    ['PATCH', '/api/v1/nodes/n/status', 'patch nodes/status n'],
    ['GET', '/api/v1/namespaces/ns', 'get namespaces ns'],
    ['PATCH', '/api/v1/namespaces/ns/status', 'patch namespaces/status ns'],
    ['PATCH', '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n', 'patch leases kube-node-lease n'],
    ['GET', '/api/v1/namespaces/a%2Fb/pods/%zz', 'get pods a/b %zz'],
    ['GET', '/version', ''],
    ['GET', '/apis', ''],
    ['TRACE', `${pods}/p`, 'pods ns p'],
  ])('%s %s is %s', (method, url, expected) => {
    const { verb, resource, subresource, namespace, name } = requestOf(method, url);
    const what = subresource === '' ? resource : `${resource}/${subresource}`;
    expect([verb, what, namespace, name].filter((part) => part !== '').join(' ')).toBe(expected);
  });
});

describe('faults', () => {
  const request = requestOf('PATCH', '/api/v1/namespaces/ns/pods/p/status');

  it('apply to matching requests, up to their count, in the order in which they were planned', () => {
    const plan = new HTTPFaults(systemClock).plan;
    plan.next({ verb: 'get' }, fault.status(500));
    const twice = plan.next({ verb: 'patch', subresource: 'status', name: 'p', count: 2 }, fault.status(409));
    plan.next({ resource: 'pods', namespace: 'ns' }, fault.hang());
    expect(Array.from({ length: 4 }, () => plan.take(request)?.kind)).toEqual(['status', 'status', 'hang', undefined]);
    expect(twice).toMatchObject({ remaining: 0, requests: [request, request] });
    expect(plan.pending).toMatchObject([{ match: { verb: 'get' }, remaining: 1, requests: [] }]);
    expect(plan.used).toEqual([
      { fault: fault.status(409), request },
      { fault: fault.status(409), request },
      { fault: fault.hang(), request },
    ]);
  });

  it('end with cancel and clear', () => {
    const plan = new HTTPFaults(systemClock).plan;
    const forever = plan.next({ count: Number.POSITIVE_INFINITY }, fault.cut());
    plan.take(request);
    expect(forever.remaining).toBe(Number.POSITIVE_INFINITY);
    forever.cancel();
    plan.next({}, fault.cut());
    plan.clear();
    expect([plan.take(request), plan.pending, plan.used]).toEqual([undefined, [], []]);
  });

  it('reject a match or fault that could never apply, and name the field', () => {
    const plan = new HTTPFaults(systemClock).plan;
    expect(() => plan.next({ verb: 'PATCH' as never }, fault.hang())).toThrow('Expected `verb` to be one of get, list');
    expect(() => plan.next({ pod: 'p' } as never, fault.hang())).toThrow('got `pod`');
    expect(() => plan.next({ resource: 'pod' }, fault.hang())).toThrow(
      "Expected `resource` to be one of '', pods, nodes, namespaces, services, configmaps, secrets, serviceaccounts, events, leases",
    );
    expect(() => plan.now({ subresource: 'Status' }, fault.cut())).toThrow("`subresource` to be one of '', status");
    expect(() => plan.next({ name: 'default/p' }, fault.hang())).toThrow('`name`');
    expect(() => plan.next({ namespace: 1 as never }, fault.hang())).toThrow('`namespace`');
    expect(() => new FakePodClient().faults.next({ verb: 'watch' }, fault.end())).toThrow(
      'Expected `verb` to be one of get, patch, delete, got "watch"',
    );
    expect(() => plan.now({ count: 1 } as never, fault.cut())).toThrow('got `count`');
    for (const count of [0, 1.5, Number.NaN]) expect(() => plan.next({ count }, fault.hang())).toThrow('`count`');
    expect(() => plan.next({ verb: 'get' }, fault.end())).toThrow('for watches only');
    expect(() => fault.status(200)).toThrow('`code`');
    expect(() => fault.status(429, { retryAfterMs: -1 })).toThrow('`retryAfterMs`');
    expect(() => fault.cut({ afterBytes: -1 })).toThrow('`afterBytes`');
    expect(() => fault.delay(Number.NaN)).toThrow('`ms`');
    expect(plan.pending).toEqual([]);
  });
});
