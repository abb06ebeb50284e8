import { describe, expect, it } from 'vitest';
import { parseOptions } from '../../../examples/containerd-agent/options.ts';

describe('parseOptions of containerd-agent', () => {
  it('has the defaults of the kubelet', () => {
    const { hostnameOverride, ...options } = parseOptions([]);
    expect(hostnameOverride).not.toBe('');
    expect(options).toEqual({
      registerNode: true,
      nodeLabels: {},
      registerWithTaints: [],
      maxPods: 110,
      containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
      rootDir: '/var/lib/kubelet',
      podLogsDir: '/var/log/pods',
      containerLogMaxSize: 10_485_760,
      containerLogMaxFiles: 5,
      serializeImagePulls: true,
      imagePullCredentialsVerificationPolicy: 'NeverVerifyPreloadedImages',
      preloadedImagesVerificationAllowlist: [],
      imageGcHighThreshold: 85,
      imageGcLowThreshold: 80,
      evictionHard: {
        'memory.available': '100Mi',
        'nodefs.available': '10%',
        'nodefs.inodesFree': '5%',
        'imagefs.available': '15%',
        'imagefs.inodesFree': '5%',
      },
      evictionSoft: {},
      evictionSoftGracePeriod: {},
      evictionMaxPodGracePeriod: 0,
      evictionMinimumReclaim: {},
      evictionPressureTransitionPeriod: 300_000,
      cgroupRoot: '/kubepods',
      podMaxPids: -1,
      clusterDns: [],
      clusterDomain: 'cluster.local',
      resolvConf: '/etc/resolv.conf',
      allowedUnsafeSysctls: [],
      seccompDefault: false,
      tlsMinVersion: 'VersionTLS12',
      port: 10_250,
      address: '0.0.0.0',
      anonymousAuth: false,
      authenticationTokenWebhook: true,
      authorizationMode: 'Webhook',
      rotateServerCertificates: false,
      healthzPort: 10_248,
      healthzBindAddress: '127.0.0.1',
      logLevel: 'info',
    });
  });

  it("reads lists, booleans and taints in the kubelet's format", () => {
    const args = [
      ...['--register-node=false', '--node-labels', 'a=b,c=', '--node-ip', '192.0.2.7,2001:db8::7'],
      ...['--register-with-taints', 'k=v:NoSchedule,l:NoExecute', '--allowed-unsafe-sysctls=net.core.*,kernel.msgmax'],
    ];
    expect(parseOptions(args)).toMatchObject({
      registerNode: false,
      nodeLabels: { a: 'b', c: '' },
      nodeIp: ['192.0.2.7', '2001:db8::7'],
      registerWithTaints: [
        { key: 'k', value: 'v', effect: 'NoSchedule' },
        { key: 'l', effect: 'NoExecute' },
      ],
      allowedUnsafeSysctls: ['net.core.*', 'kernel.msgmax'],
    });
  });

  it("reads eviction thresholds and durations in the kubelet's format", () => {
    const args = [
      ...['--eviction-soft', 'memory.available<1.5Gi,nodefs.available<15%', '--eviction-max-pod-grace-period', '60'],
      ...['--eviction-soft-grace-period', 'memory.available=1m30s,nodefs.available=1.5h'],
      ...[
        '--pod-max-pids',
        '100',
        '--eviction-minimum-reclaim=memory.available=0Mi',
        '--eviction-pressure-transition-period=100ms',
      ],
    ];
    expect(parseOptions(args)).toMatchObject({
      evictionSoft: { 'memory.available': '1.5Gi', 'nodefs.available': '15%' },
      evictionSoftGracePeriod: { 'memory.available': 90_000, 'nodefs.available': 5_400_000 },
      evictionMaxPodGracePeriod: 60,
      podMaxPids: 100,
      evictionMinimumReclaim: { 'memory.available': '0Mi' },
      evictionPressureTransitionPeriod: 100,
    });
    expect(parseOptions(['--pod-max-pids', '-1']).podMaxPids).toBe(-1);
  });

  it.each([
    ['--hostname-override', 'Node_A'],
    ['--register-node', 'no'],
    ['--node-labels', 'a'],
    ['--register-with-taints', 'k=v:Never'],
    ['--node-ip', 'localhost'],
    ['--cluster-dns', '10.96.0'],
    ['--eviction-hard', 'memory.available=100Mi'],
    ['--eviction-soft-grace-period', 'memory.available=90'],
    ['--eviction-minimum-reclaim', 'memory.available<1Mi'],
    ['--eviction-pressure-transition-period', '5'],
    ['--pod-max-pids', '0'],
    ['--max-pods', '0'],
    ['--container-log-max-size', '10 MB'],
    ['--container-log-max-files', '1'],
    ['--port', '65536'],
    ['--log-level', 'loud'],
  ])('refuses an invalid %s', (option, value) => {
    expect(() => parseOptions([option, value])).toThrow(option);
  });
});
