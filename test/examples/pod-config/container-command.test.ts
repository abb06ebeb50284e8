import { describe, expect, it } from 'vitest';
import { resolveContainerCommand } from '../../../examples/node-agent/pod-config/container-command.ts';
import { fakeConfigObjects, node } from '../process-runtime/test-runtime.ts';

const pod = {
  metadata: {
    namespace: 'default',
    name: 'web',
    uid: 'uid-1',
    labels: { app: 'web', 'example.com/tier': 'front' },
    annotations: { note: 'two\nlines' },
  },
  spec: { nodeName: 'node-1', serviceAccountName: 'robot' },
};

const configObjects = fakeConfigObjects({
  'configmap/settings': { level: 'high', 'a=b': 'no name', unused: '' },
  'secret/login': { password: 'hush', level: 'from the secret' },
});

function resolve(container: object) {
  return resolveContainerCommand(pod, { name: 'c', command: ['run'], ...container }, configObjects, node);
}

async function envOf(container: object) {
  const { HOSTNAME: _, ...env } = (await resolve(container)).env;
  return env;
}

describe('resolveContainerCommand', () => {
  it('appends args to the command, and puts the pod into the environment', async () => {
    expect(await resolve({ command: ['sh', '-c'], args: ['exit 0'], workingDir: '/' })).toEqual({
      file: 'sh',
      args: ['-c', 'exit 0'],
      env: { HOSTNAME: 'web' },
      workingDir: '/',
    });
  });

  it.each([
    ['$(A)', 'one'],
    ['$(B)', 'two one'],
    ['$(UNKNOWN)', '$(UNKNOWN)'],
    ['$$(A)', '$(A)'],
    ['$$', '$'],
    ['$A $(', '$A $('],
    ['$(__proto__)', '$(__proto__)'],
    ['$(LATER)', 'x'],
    ['$(EARLY)', '$(LATER)'],
    ['$(level)', 'high'],
  ])('expands %s to %s', async (argument, expanded) => {
    const env = [
      { name: 'A', value: 'one' },
      { name: 'B', value: 'two $(A)' },
      { name: 'EARLY', value: '$(LATER)' },
      { name: 'LATER', value: 'x' },
    ];
    const envFrom = [{ configMapRef: { name: 'settings' } }];
    expect((await resolve({ command: ['echo', argument], env, envFrom })).args).toEqual([expanded]);
  });

  it.each([[{ command: undefined }], [{ command: undefined, args: ['only', 'args'] }], [{ command: [] }]])(
    'refuses %j',
    async (container) => {
      const result = resolve(container);
      await expect(result).rejects.toThrow('the container has no command');
      await expect(result).rejects.toMatchObject({ name: 'ContainerConfigError' });
    },
  );
});

describe('fieldRef', () => {
  it.each([
    ['metadata.name', 'web'],
    ['metadata.namespace', 'default'],
    ['metadata.uid', 'uid-1'],
    ["metadata.labels['example.com/tier']", 'front'],
    ["metadata.annotations['note']", 'two\nlines'],
    ["metadata.labels['none']", ''],
    ['metadata.labels', 'app="web"\nexample.com/tier="front"'],
    ['metadata.annotations', 'note="two\\nlines"'],
    ['spec.nodeName', 'node-1'],
    ['spec.serviceAccountName', 'robot'],
    ['status.podIP', '192.0.2.1'],
    ['status.hostIP', '192.0.2.1'],
    ['status.podIPs', '192.0.2.1,2001:db8::1'],
    ['status.hostIPs', '192.0.2.1,2001:db8::1'],
  ])('%s is %j', async (fieldPath, value) => {
    expect(await envOf({ env: [{ name: 'X', valueFrom: { fieldRef: { fieldPath } } }] })).toEqual({ X: value });
  });

  it('refuses other paths', async () => {
    const env = [{ name: 'X', valueFrom: { fieldRef: { fieldPath: 'spec.containers' } } }];
    await expect(resolve({ env })).rejects.toThrow('unsupported fieldPath: spec.containers');
  });
});

describe('ConfigMaps and Secrets', () => {
  const secretKeyRef = { name: 'login', key: 'password' };

  it.each([
    [{ env: [{ name: 'X', valueFrom: { secretKeyRef } }] }, { X: 'hush' }],
    [{ env: [{ name: 'X', valueFrom: { configMapKeyRef: { name: 'settings', key: 'level' } } }] }, { X: 'high' }],
    [{ env: [{ name: 'X', valueFrom: { configMapKeyRef: { name: 'settings', key: 'no', optional: true } } }] }, {}],
    [{ env: [{ name: 'X', valueFrom: { secretKeyRef: { name: 'no', key: 'no', optional: true } } }] }, {}],
    [{ envFrom: [{ configMapRef: { name: 'settings' } }] }, { level: 'high', unused: '' }],
    [{ envFrom: [{ prefix: 'P_', configMapRef: { name: 'settings' } }] }, { P_level: 'high', P_unused: '' }],
    [{ envFrom: [{ secretRef: { name: 'no', optional: true } }] }, {}],
  ])('%j gives %j', async (container, env) => {
    expect(await envOf(container)).toEqual(env);
  });

  it('the last of several sources of one name wins, and env wins over envFrom', async () => {
    const envFrom = [{ configMapRef: { name: 'settings' } }, { secretRef: { name: 'login' } }];
    expect(await envOf({ envFrom })).toMatchObject({ level: 'from the secret' });
    expect(await envOf({ envFrom, env: [{ name: 'level', value: 'own' }] })).toMatchObject({ level: 'own' });
  });

  it('$(NAME) in env refers to variables of env, not of envFrom, as in the kubelet', async () => {
    const envFrom = [{ configMapRef: { name: 'settings' } }];
    const env = [
      { name: 'PASSWORD', valueFrom: { secretKeyRef } },
      { name: 'X', value: '$(PASSWORD) $(level)' },
    ];
    expect(await envOf({ envFrom, env })).toMatchObject({ X: 'hush $(level)' });
  });

  it.each([
    [{ env: [{ name: 'X', valueFrom: { secretKeyRef: { name: 'no', key: 'k' } } }] }, 'secret "no" not found'],
    [
      { env: [{ name: 'X', valueFrom: { secretKeyRef: { name: 'login', key: 'no' } } }] },
      "couldn't find key no in Secret default/login",
    ],
    [
      { env: [{ name: 'X', valueFrom: { configMapKeyRef: { name: 'settings', key: 'no' } } }] },
      "couldn't find key no in ConfigMap default/settings",
    ],
    [{ envFrom: [{ configMapRef: { name: 'no' } }] }, 'configmap "no" not found'],
    [{ env: [{ name: 'X', valueFrom: { resourceFieldRef: {} } }] }, 'does not support resourceFieldRef'],
  ])('%j is a CreateContainerConfigError', async (container, message) => {
    const result = resolve(container);
    await expect(result).rejects.toThrow(message);
    await expect(result).rejects.toMatchObject({ name: 'ContainerConfigError' });
  });
});
