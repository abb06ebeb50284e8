import { describe, expect, it } from 'vitest';
import { generatePodSandboxConfig, normalizeSysctl } from '../../src/cri/sandbox-config.ts';
import { hostUsers, podWith } from './pods.ts';

const settings = {
  attempt: 2,
  dns: { servers: ['10.0.0.10'], searches: [], options: [] },
  hostname: 'web',
  podLogsDirectory: '/logs',
  userNamespace: hostUsers,
  cgroupParent: '/kubepods/besteffort/poduid-1',
};

describe('generatePodSandboxConfig', () => {
  it('uses the names of the kubelet, so that the agent and a kubelet can adopt each other’s pods', () => {
    expect(generatePodSandboxConfig(podWith(), settings)).toMatchObject({
      metadata: { name: 'web', namespace: 'default', uid: 'uid-1', attempt: 2 },
      labels: {
        app: 'web',
        'io.kubernetes.pod.name': 'web',
        'io.kubernetes.pod.namespace': 'default',
        'io.kubernetes.pod.uid': 'uid-1',
      },
      hostname: 'web',
      log_directory: '/logs/default_web_uid-1',
      linux: { cgroup_parent: '/kubepods/besteffort/poduid-1' },
    });
  });

  it('labels of a pod do not make its sandbox one of another pod', () => {
    const stolen = { 'io.kubernetes.pod.uid': 'uid-2', 'io.kubernetes.pod.name': 'other', app: 'web' };
    const pod = podWith();
    const { labels } = generatePodSandboxConfig({ ...pod, metadata: { ...pod.metadata, labels: stolen } }, settings);
    expect(labels).toMatchObject({ 'io.kubernetes.pod.uid': 'uid-1', 'io.kubernetes.pod.name': 'web', app: 'web' });
  });

  it('maps host ports, and none of a pod in the network of the host', () => {
    const ports = [{ containerPort: 80, hostPort: 8080 }, { containerPort: 81 }];
    const mapping = { host_ip: '', host_port: 8080, container_port: 80, protocol: 'TCP' };
    expect(generatePodSandboxConfig(podWith({}, { ports }), settings).port_mappings).toEqual([mapping]);
    const onHost = generatePodSandboxConfig(podWith({ hostNetwork: true }, { ports }), settings);
    expect(onHost).toMatchObject({ port_mappings: [] });
  });
});

describe('normalizeSysctl', () => {
  it.each([
    ['kernel.shm_rmid_forced', 'kernel.shm_rmid_forced'],
    ['net/ipv4/tcp_syncookies', 'net.ipv4.tcp_syncookies'],
    ['net/ipv4/conf/eno2.100/rp_filter', 'net.ipv4.conf.eno2/100.rp_filter'],
    ['net.ipv4.conf.eno2/100.rp_filter', 'net.ipv4.conf.eno2/100.rp_filter'],
  ])('%s is %s', (name, expected) => {
    expect(normalizeSysctl(name)).toBe(expected);
  });
});
