import { describe, expect, it } from 'vitest';
import type { PodAdmitResult } from 'kubelet-status-manager/agent';
import { safeSysctlAllowlist, SysctlAllowlist } from '../../../src/agent/admission/sysctl-allowlist.ts';

const safe = safeSysctlAllowlist('5.15.0-75-generic');

describe('TestNewAllowlist: the allowlist', () => {
  it.each([[['kernel.msg*', 'kernel.sem']], [['kernel/msg*', 'kernel/sem']]])('%j is valid', (patterns) => {
    expect(() => new SysctlAllowlist(safe, patterns)).not.toThrow();
  });

  it.each([' kernel.msg*', 'kernel.msg* ', 'net.-', 'net.*.foo', 'net.*/foo', 'foo', 'foo*', 7 as never])(
    '%j is refused, with the path',
    (pattern) => {
      expect(() => new SysctlAllowlist(safe, ['kernel.sem', pattern])).toThrow(
        expect.objectContaining({ code: 'INVALID_OPTION', path: 'allowedUnsafeSysctls[1]' }),
      );
    },
  );
});

const metadata = { uid: 'uid', name: 'web', namespace: 'ns' };

describe('TestAllowlist: admission', () => {
  const allowlist = new SysctlAllowlist(safe, ['kernel.msg*', 'kernel.sem', 'net.b.*', 'user.*']);
  const admit = (name: string, spec: object = {}): PodAdmitResult =>
    allowlist.admit({
      pod: { metadata, spec: { hostUsers: false, ...spec, securityContext: { sysctls: [{ name, value: '1' }] } } },
      otherPods: [],
      operation: 'add',
    });
  it.each([
    'kernel.shm_rmid_forced',
    'kernel/shm_rmid_forced',
    'net.ipv4.ip_local_port_range',
    'kernel.msgmax',
    'kernel.sem',
    'kernel/sem',
    'user.max_user_namespaces',
  ])('%s is allowed', (name) => {
    expect(admit(name)).toEqual({ admit: true });
  });

  it.each<[string, object, string]>([
    ['kernel.shm_rmid_forced', { hostIPC: true }, 'not allowed with host IPC enabled'],
    ['net.ipv4.ip_local_port_range', { hostNetwork: true }, 'not allowed with host Net enabled'],
    ['user.max_user_namespaces', { hostUsers: undefined }, 'not allowed with host User enabled'],
    ['foo', {}, 'not allowlisted'],
    ['net.a.b.c', {}, 'not allowlisted'],
    ['net.ipv4.ip_local_port_range.a.b.c', {}, 'not allowlisted'],
    ['kernel.msgmax', { hostIPC: true }, 'not allowed with host IPC enabled'],
    ['kernel.sem', { hostIPC: true }, 'not allowed with host IPC enabled'],
    ['net.b.c', { hostNetwork: true }, 'not allowed with host Net enabled'],
  ])('%s is forbidden with %j', (name, spec, error) => {
    const message = `forbidden sysctl: "${name}" ${error}`;
    expect(admit(name, spec)).toEqual({ admit: false, reason: 'SysctlForbidden', message });
  });

  it('a pod without sysctls is allowed', () => {
    const pod = { metadata, spec: { securityContext: { sysctls: [] } } };
    expect(allowlist.admit({ pod, otherPods: [], operation: 'add' })).toEqual({ admit: true });
  });
});

describe('Test_getSafeSysctlAllowlist: safeSysctlAllowlist', () => {
  const always = [
    'kernel.shm_rmid_forced',
    'net.ipv4.ip_local_port_range',
    'net.ipv4.tcp_syncookies',
    'net.ipv4.ping_group_range',
    'net.ipv4.ip_unprivileged_port_start',
  ];
  it('failed to get kernelVersion, only return safeSysctls with no kernelVersion limit', () => {
    expect(safeSysctlAllowlist('unknown')).toEqual(always);
  });

  it('kernelVersion is 3.18.0, return safeSysctls with no kernelVersion limit and net.ipv4.ip_local_reserved_ports', () => {
    expect(safeSysctlAllowlist('3.18.0-957.27.2.el7.x86_64')).toEqual([...always, 'net.ipv4.ip_local_reserved_ports']);
  });

  it('kernelVersion is 5.15.0, return safeSysctls with no kernelVersion limit and kernelVersion below 5.15.0', () => {
    expect(safe).toEqual([
      ...always,
      'net.ipv4.ip_local_reserved_ports',
      'net.ipv4.tcp_keepalive_time',
      'net.ipv4.tcp_fin_timeout',
      'net.ipv4.tcp_keepalive_intvl',
      'net.ipv4.tcp_keepalive_probes',
      'net.ipv4.tcp_rmem',
      'net.ipv4.tcp_wmem',
      'net.ipv4.tcp_slow_start_after_idle',
      'net.ipv4.tcp_notsent_lowat',
    ]);
  });
});
