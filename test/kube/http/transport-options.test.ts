import { describe, expect, it } from 'vitest';
import { FakeClock, silentLogger } from 'kubelet-status-manager/testing';
import { resolveTransport } from '../../../src/kube/http/resolve-transport.ts';
import { resolveTransportOptions } from '../../../src/kube/http/transport-options.ts';
import { kubeConfig } from './kube-configs.ts';

describe('resolveTransportOptions', () => {
  it('has the defaults of the documentation', () => {
    expect(resolveTransportOptions({})).toMatchObject({
      ...{ connections: 64, connectionWaitTimeoutMs: 60_000, connectTimeoutMs: 10_000, inactivityTimeoutMs: 60_000 },
      ...{ execTimeoutMs: 60_000, kubeConfigDir: '.', env: process.env },
      userAgent: expect.stringMatching(/^kubelet-status-manager\/\S+ \(\w+\/\w+\) node\/\d/),
    });
  });

  it('has the options of the caller', () => {
    const options = {
      ...{ connections: 1, connectionWaitTimeoutMs: 2, connectTimeoutMs: 3, inactivityTimeoutMs: 4, execTimeoutMs: 5 },
      ...{ userAgent: 'agent', kubeConfigDir: '/etc', env: { A: '1' }, clock: new FakeClock() },
    };
    expect(resolveTransportOptions({ ...options, logger: silentLogger })).toMatchObject(options);
  });

  it.each([
    ['connections', 0, 'an integer'],
    ['connectionWaitTimeoutMs', 0, 'an integer'],
    ['connectTimeoutMs', 0, 'an integer'],
    ['inactivityTimeoutMs', 0, 'an integer'],
    ['execTimeoutMs', 0, 'an integer'],
    ['userAgent', '', 'printable ASCII'],
    ['userAgent', 'ü', 'printable ASCII'],
    ['userAgent', 'a\r\nauthorization: x', 'printable ASCII'],
    ['kubeConfigDir', 7, 'a string'],
  ])('refuses `%s`: %j', (name, value, expected) => {
    const resolve = () => resolveTransportOptions({ [name]: value });
    expect(resolve).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', path: name }));
    expect(resolve).toThrow(expected);
  });

  it('refuses options that are no object', () => {
    expect(() => resolveTransportOptions(7 as never)).toThrow('Expected `options` to be an object');
  });
});

describe('resolveTransport', () => {
  const transport = { request: async () => ({}) as never, stream: async () => ({}) as never };

  it('shares the connections of a client, which its owner closes', async () => {
    const resolved = resolveTransport({ transport }, {});
    expect(resolved.transport).toBe(transport);
    await expect(resolved.close()).resolves.toBeUndefined();
  });

  it('has connections of its own to the server of a kubeconfig, and closes them', async () => {
    const { transport: own, close } = resolveTransport(kubeConfig('https://127.0.0.1:1'), {});
    await close();
    await expect(own.request('GET', '/version')).rejects.toMatchObject({ kind: 'aborted' });
  });

  it.each([
    ...[undefined, null, 'https://k', {}, { transport: undefined }, { transport: { request: async () => {} } }],
    ...[{ transport: { stream: async () => {} } }, { clusters: [] }],
  ])('refuses %j', (client) => {
    expect(() => resolveTransport(client as never, {})).toThrow(
      'Expected `client` to be a KubeConfig, a kubeconfig object or a client of createPodClient',
    );
  });
});
