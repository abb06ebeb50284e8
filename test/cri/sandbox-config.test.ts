import { describe, expect, it } from 'vitest';
import { generatePodSandboxConfig } from '../../src/cri/sandbox-config.ts';
import { normalizeSysctl } from '../../src/kube/pods/normalize-sysctl.ts';
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

  it('has the annotations, the sysctls and the overhead of the pod', () => {
    const sysctls = [
      { name: 'net/ipv4/tcp_syncookies', value: '1' },
      { name: 'kernel.shm_rmid_forced', value: '0' },
    ];
    const pod = podWith({ securityContext: { sysctls }, overhead: { cpu: '250m', memory: '64Mi' } });
    const annotations = { note: 'x' };
    const config = generatePodSandboxConfig({ ...pod, metadata: { ...pod.metadata, annotations } }, settings);
    expect(config).toMatchObject({
      ...{ annotations, dns_config: settings.dns },
      linux: {
        sysctls: { 'net.ipv4.tcp_syncookies': '1', 'kernel.shm_rmid_forced': '0' },
        overhead: { cpu_shares: 256, cpu_period: 100_000, cpu_quota: 25_000, memory_limit_in_bytes: 64 * 2 ** 20 },
        resources: { cpu_shares: 2, cpu_quota: 0, memory_limit_in_bytes: 0 },
        security_context: { namespace_options: { network: 'POD' } },
      },
    });
    const plain = generatePodSandboxConfig(podWith(), settings);
    expect(plain.annotations).toEqual({});
    expect(plain.linux!.sysctls).toEqual({});
    expect(plain.linux).not.toHaveProperty('overhead');
  });

  it('maps host ports with their address and protocol', () => {
    const ports = [{ containerPort: 53, hostPort: 53, hostIP: '127.0.0.1', protocol: 'UDP' }];
    expect(generatePodSandboxConfig(podWith({}, { ports }), settings).port_mappings).toEqual([
      { host_ip: '127.0.0.1', host_port: 53, container_port: 53, protocol: 'UDP' },
    ]);
    expect(
      generatePodSandboxConfig(podWith({}, { ports: [{ containerPort: 1, hostPort: 0 }] }), settings),
    ).toMatchObject({
      port_mappings: [],
    });
    expect(generatePodSandboxConfig({ metadata: podWith().metadata }, settings).port_mappings).toEqual([]);
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
