import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Container } from 'kubelet-status-manager';
import { describe, expect, it } from 'vitest';
import { processFields, unsupportedFields } from '../../src/process-runtime/unsupported-fields.ts';
import { repository } from '../support/repository.ts';

const user = { uid: 1000, gid: 100, groups: [100, 27] };
const root = { uid: 0, gid: 0, groups: [0] };

function refused(spec: object, container: object = {}, by = user): string[] {
  const containers = [{ name: 'app', ...container } as Container];
  const pod = { metadata: { namespace: 'default', name: 'web', uid: 'uid-1' }, spec: { ...spec, containers } };
  return unsupportedFields(pod, containers, by).map((text) => text.replace(/: [^:]*$/, ''));
}

const ofContainer = (securityContext: object, by = user): string[] => refused({}, { securityContext }, by);

describe('a pod never has less isolation than its spec asks for', () => {
  it.each<[string, object]>([
    ['securityContext.runAsUser', { runAsUser: 0 }],
    ['securityContext.runAsUser', { runAsUser: 1001 }],
    ['securityContext.runAsGroup', { runAsGroup: 27 }],
    ['securityContext.privileged', { privileged: true }],
    ['securityContext.capabilities', { capabilities: { drop: ['ALL'] } }],
    ['securityContext.capabilities', { capabilities: { add: ['NET_ADMIN'] } }],
    ['securityContext.seLinuxOptions', { seLinuxOptions: { level: 's0' } }],
    ['securityContext.readOnlyRootFilesystem', { readOnlyRootFilesystem: true }],
    ['securityContext.allowPrivilegeEscalation', { allowPrivilegeEscalation: false }],
    ['securityContext.seccompProfile', { seccompProfile: { type: 'RuntimeDefault' } }],
    ['securityContext.appArmorProfile', { appArmorProfile: { type: 'Localhost', localhostProfile: 'p' } }],
  ])('%s is refused: %j', (path, context) => {
    expect(ofContainer(context)).toEqual([`container app: ${path}`]);
  });

  it('root cannot be what runAsNonRoot forbids', () => {
    expect(ofContainer({ runAsNonRoot: true }, root)).toEqual(['container app: securityContext.runAsNonRoot']);
  });

  it.each<[string, object]>([
    ['spec.securityContext.supplementalGroups', { securityContext: { supplementalGroups: [27, 28] } }],
    ['spec.securityContext.supplementalGroupsPolicy', { securityContext: { supplementalGroupsPolicy: 'Strict' } }],
    ['spec.securityContext.fsGroup', { securityContext: { fsGroup: 2000 } }],
    ['spec.securityContext.sysctls', { securityContext: { sysctls: [{ name: 'a.b', value: '1' }] } }],
    ['container app: securityContext.runAsUser', { securityContext: { runAsUser: 1 } }],
    ['container app: securityContext.seccompProfile', { securityContext: { seccompProfile: { type: 'Localhost' } } }],
    ['container app: securityContext.appArmorProfile', { securityContext: { appArmorProfile: { type: 'Localhost' } } }],
    ['spec.dnsConfig', { dnsConfig: { nameservers: ['192.0.2.1'] } }],
    ['spec.hostAliases', { hostAliases: [{ ip: '192.0.2.1', hostnames: ['a'] }] }],
    ['spec.hostUsers', { hostUsers: false }],
  ])('%s of a pod is refused: %j', (path, spec) => {
    expect(refused(spec)).toEqual([path]);
  });

  it('a container overrides what its pod has as a default', () => {
    const securityContext = { runAsUser: 1, seccompProfile: { type: 'RuntimeDefault' } };
    const own = { runAsUser: 1000, seccompProfile: { type: 'Unconfined' } };
    expect(refused({ securityContext }, { securityContext: own })).toEqual([]);
  });

  it.each<[string, object]>([
    ['tty', { tty: true }],
    ['ports[0].hostPort', { ports: [{ containerPort: 80, hostPort: 8080 }] }],
    ['ports[0].hostIP', { ports: [{ containerPort: 80, hostIP: '127.0.0.1' }] }],
  ])('%s is refused', (path, container) => {
    expect(refused({}, container)).toEqual([`container app: ${path}`]);
  });

  it('a volume that is to be read-only is refused, unless a pod has its own copy of it', () => {
    const volumes = [
      { name: 'host', hostPath: { path: '/' } },
      { name: 'token', projected: { sources: [] } },
    ];
    const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}`, readOnly: true }));
    expect(refused({ volumes }, { volumeMounts })).toEqual(['container app: readOnly of volumeMount host']);
  });
});

it('a pod that asks for what every process of the user has is not refused', () => {
  const context = { runAsUser: 1000, runAsGroup: 100, runAsNonRoot: true, privileged: false, procMount: 'Default' };
  const securityContext = { fsGroup: 27, supplementalGroups: [100], supplementalGroupsPolicy: 'Merge', sysctls: [] };
  const spec = { securityContext, hostNetwork: true, hostPID: true, hostUsers: true, dnsPolicy: 'ClusterFirst' };
  const ports = [{ containerPort: 80, hostPort: 80, hostIP: '0.0.0.0' }];
  const more = { capabilities: {}, allowPrivilegeEscalation: true, seccompProfile: { type: 'Unconfined' } };
  expect(refused(spec, { securityContext: { ...context, ...more }, ports, tty: false })).toEqual([]);
  expect(ofContainer({ privileged: true, runAsUser: 0 }, root)).toEqual([]);
});

describe('docs/guides/process-runtime.md', () => {
  const [, table = '', list = ''] =
    /\n\| Refused([^]*?)\nIgnored:\n([^]*?)\n## /.exec(
      readFileSync(join(repository, 'docs/guides/process-runtime.md'), 'utf8'),
    ) ?? [];
  const fields = Object.values(processFields).flatMap((rows) => Object.entries<unknown>(rows));

  it.each([
    ['refused', table],
    ['ignored', list],
  ])('lists every field that is %s, and no field as both', (kind, text) => {
    const names = fields.filter(([, row]) => typeof row === 'object' && kind in (row as object)).map(([name]) => name);
    expect(names.length).toBeGreaterThan(10);
    const isIn = (name: string, where: string): boolean => new RegExp(`\`${name}\\b`).test(where);
    expect(names.filter((name) => !isIn(name, text))).toEqual([]);
    expect(names.filter((name) => isIn(name, kind === 'refused' ? list : table))).toEqual([]);
  });
});
