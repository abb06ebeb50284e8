import { describe, expect, it } from 'vitest';
import { ContainerConfigError } from '../../src/node/runtime/container-runtime.ts';
import {
  containerSecurityContext,
  namespacesForPod,
  sandboxSecurityContext,
  verifyRunAsNonRoot,
} from '../../src/cri/security-context.ts';
import { appOf, hostUsers, machine, podWith } from './pods.ts';

const options = {
  ...{ seccompProfileRoot: '/seccomp', seccompDefault: false, targetID: undefined, machine },
  userNamespace: hostUsers,
};
const contextOf = (spec: object, container: object = {}, more: object = {}) => {
  const pod = podWith(spec, container);
  return containerSecurityContext(pod, appOf(pod), { uid: 7 }, { ...options, ...more });
};

describe('namespacesForPod', () => {
  it.each([
    [{}, { network: 'POD', pid: 'CONTAINER', ipc: 'POD' }],
    [
      { hostNetwork: true, hostPID: true, hostIPC: true },
      { network: 'NODE', pid: 'NODE', ipc: 'NODE' },
    ],
    [{ shareProcessNamespace: true }, { network: 'POD', pid: 'POD', ipc: 'POD' }],
  ])('of %j', (spec, expected) => {
    expect(namespacesForPod(spec, hostUsers)).toEqual({ ...expected, userns_options: hostUsers });
  });
});

describe('containerSecurityContext', () => {
  it('runs as the user of the image unless the pod or the container names one', () => {
    expect(contextOf({}).run_as_user).toEqual({ value: 7 });
    expect(contextOf({ securityContext: { runAsUser: 1 } }).run_as_user).toEqual({ value: 1 });
    const both = contextOf({ securityContext: { runAsUser: 1 } }, { securityContext: { runAsUser: 0 } });
    expect(both.run_as_user).toEqual({ value: 0 });
  });

  it('of a container that says nothing is that of a kubelet', () => {
    const { masked_paths: masked, readonly_paths: readonly, ...context } = contextOf({});
    expect(context).toEqual({
      ...{ run_as_user: { value: 7 }, run_as_username: '', run_as_group: undefined },
      ...{ privileged: false, readonly_rootfs: false, no_new_privs: false, capabilities: undefined },
      ...{ supplemental_groups: [], supplemental_groups_policy: undefined, selinux_options: undefined },
      namespace_options: { network: 'POD', pid: 'CONTAINER', ipc: 'POD', userns_options: hostUsers },
      ...{ seccomp: { profile_type: 'Unconfined' }, apparmor: undefined, apparmor_profile: undefined },
    });
    expect(masked).toEqual([
      ...['asound', 'acpi', 'interrupts', 'kcore', 'keys', 'latency_stats'].map((name) => `/proc/${name}`),
      ...['timer_list', 'timer_stats', 'sched_debug', 'scsi'].map((name) => `/proc/${name}`),
      ...['/sys/firmware', '/sys/devices/virtual/powercap'],
    ]);
    expect(readonly).toEqual(['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger']);
  });

  it('has what the container says', () => {
    const selinux = { user: 'u', role: 'r', type: 't', level: 'l' };
    expect(
      contextOf(
        {},
        {
          securityContext: {
            ...{ privileged: true, readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, runAsGroup: 3 },
            ...{ capabilities: { add: ['NET_ADMIN'], drop: ['ALL'] }, seLinuxOptions: selinux },
          },
        },
      ),
    ).toMatchObject({
      ...{ privileged: true, readonly_rootfs: true, no_new_privs: true, run_as_group: { value: 3 } },
      capabilities: { add_capabilities: ['NET_ADMIN'], drop_capabilities: ['ALL'] },
      selinux_options: selinux,
    });
    expect(contextOf({}, { securityContext: { allowPrivilegeEscalation: true } }).no_new_privs).toBe(false);
    expect(contextOf({}, { securityContext: { capabilities: {} } }).capabilities).toEqual({
      ...{ add_capabilities: [], drop_capabilities: [] },
    });
  });

  it('has what the pod says, unless the container says something else', () => {
    const ofPod = { runAsGroup: 3, seLinuxOptions: { level: 'pod' }, seccompProfile: { type: 'RuntimeDefault' } };
    const own = { runAsGroup: 4, seLinuxOptions: { level: 'own' }, seccompProfile: { type: 'Unconfined' } };
    const spec = { securityContext: { ...ofPod, supplementalGroupsPolicy: 'Strict' } };
    expect(contextOf(spec)).toMatchObject({
      ...{ run_as_group: { value: 3 }, selinux_options: { level: 'pod' }, supplemental_groups_policy: 'Strict' },
      seccomp: { profile_type: 'RuntimeDefault' },
    });
    expect(contextOf(spec, { securityContext: own })).toMatchObject({
      ...{ run_as_group: { value: 4 }, selinux_options: { level: 'own' }, seccomp: { profile_type: 'Unconfined' } },
    });
  });

  it('runs as the user whose name the image has, unless the pod says a number', () => {
    const named = (spec: object) => {
      const pod = podWith(spec);
      return containerSecurityContext(pod, appOf(pod), { username: 'www' }, options);
    };
    expect(named({})).toMatchObject({ run_as_user: undefined, run_as_username: 'www' });
    expect(named({ securityContext: { runAsUser: 5 } })).toMatchObject({
      run_as_user: { value: 5 },
      run_as_username: '',
    });
  });

  it('has the groups of the pod, fsGroup first', () => {
    expect(contextOf({ securityContext: { fsGroup: 5, supplementalGroups: [6] } }).supplemental_groups).toEqual([5, 6]);
  });

  it('masks paths of /proc unless procMount is Unmasked', () => {
    expect(contextOf({}).masked_paths).toContain('/proc/kcore');
    expect(contextOf({}, { securityContext: { procMount: 'Unmasked' } }).masked_paths).toEqual([]);
  });

  it('masks what tells of the temperature of the CPUs, unless procMount is Unmasked', () => {
    const path = '/sys/devices/system/cpu/cpu0/thermal_throttle';
    const more = { machine: { ...machine, thermalThrottlePaths: [path] } };
    expect(contextOf({}, {}, more).masked_paths).toContain(path);
    expect(contextOf({}, { securityContext: { procMount: 'Unmasked' } }, more).masked_paths).toEqual([]);
  });

  it('seccompDefault: a container without a profile has that of the runtime, and one with a profile has its own', () => {
    const seccomp = (spec: object, container: object = {}): string | undefined =>
      contextOf(spec, container, { seccompDefault: true }).seccomp?.profile_type;
    const unconfined = { securityContext: { seccompProfile: { type: 'Unconfined' } } };
    expect(seccomp({})).toBe('RuntimeDefault');
    expect(seccomp(unconfined)).toBe('Unconfined');
    expect(seccomp({}, unconfined)).toBe('Unconfined');
    expect(contextOf({}).seccomp?.profile_type).toBe('Unconfined');
  });

  it('has the AppArmor profile of a static pod that names it in an annotation, for runtimes old and new', () => {
    const annotations = { 'container.apparmor.security.beta.kubernetes.io/app': 'localhost/a' };
    const pod = { ...podWith(), metadata: { ...podWith().metadata, annotations } };
    expect(containerSecurityContext(pod, appOf(pod), {}, options)).toMatchObject({
      apparmor: { profile_type: 'Localhost', localhost_ref: 'a' },
      apparmor_profile: 'localhost/a',
    });
    const unconfined = { securityContext: { appArmorProfile: { type: 'Unconfined' } } };
    expect(contextOf(unconfined)).toMatchObject({
      apparmor: { profile_type: 'Unconfined' },
      apparmor_profile: 'unconfined',
    });
    expect(contextOf({}).apparmor).toBeUndefined();
  });

  it.each([
    [undefined, { profile_type: 'Unconfined' }],
    [{ type: 'RuntimeDefault' }, { profile_type: 'RuntimeDefault' }],
    [
      { type: 'Localhost', localhostProfile: 'a.json' },
      { profile_type: 'Localhost', localhost_ref: '/seccomp/a.json' },
    ],
  ])('has the seccomp profile %j', (seccompProfile, expected) => {
    expect(contextOf({ securityContext: { seccompProfile } }).seccomp).toEqual(expected);
  });

  it('refuses a Localhost profile without a name', () => {
    expect(() => contextOf({ securityContext: { seccompProfile: { type: 'Localhost' } } })).toThrow(
      new ContainerConfigError('localhostProfile must be set if seccompProfile type is Localhost.'),
    );
  });

  it('of an ephemeral container sees the processes of its target, unless all are visible anyway', () => {
    const more = { targetID: 'abc' };
    expect(contextOf({}, {}, more).namespace_options).toMatchObject({ pid: 'TARGET', target_id: 'abc' });
    expect(contextOf({ shareProcessNamespace: true }, {}, more).namespace_options).toMatchObject({ pid: 'POD' });
  });
});

describe('sandboxSecurityContext', () => {
  it('is privileged if one container is', () => {
    expect(sandboxSecurityContext(podWith(), hostUsers).privileged).toBe(false);
    const privileged = podWith({}, { securityContext: { privileged: true } });
    expect(sandboxSecurityContext(privileged, hostUsers).privileged).toBe(true);
    const container = { name: 'i', securityContext: { privileged: true } };
    for (const kind of ['initContainers', 'ephemeralContainers'])
      expect(sandboxSecurityContext(podWith({ [kind]: [container] }), hostUsers).privileged).toBe(true);
  });

  it('has what the pod says, and the seccomp profile of the runtime', () => {
    const seccomp = { profile_type: 'RuntimeDefault' };
    const securityContext = {
      ...{ runAsUser: 1, runAsGroup: 2, fsGroup: 3, supplementalGroups: [4], supplementalGroupsPolicy: 'Strict' },
      ...{ seLinuxOptions: { level: 'l' }, seccompProfile: { type: 'Unconfined' } },
    };
    expect(sandboxSecurityContext(podWith({ securityContext, hostNetwork: true }), hostUsers)).toEqual({
      ...{ privileged: false, seccomp, run_as_user: { value: 1 }, run_as_group: { value: 2 } },
      ...{ supplemental_groups: [3, 4], supplemental_groups_policy: 'Strict', selinux_options: { level: 'l' } },
      namespace_options: { network: 'NODE', pid: 'CONTAINER', ipc: 'POD', userns_options: hostUsers },
    });
    expect(sandboxSecurityContext(podWith(), hostUsers)).toMatchObject({
      ...{ seccomp, run_as_user: undefined, run_as_group: undefined, supplemental_groups: [] },
    });
  });
});

describe('verifyRunAsNonRoot', () => {
  const verify = (context: object, imageUser: object) => () => {
    const pod = podWith({ securityContext: { runAsNonRoot: true, ...context } });
    verifyRunAsNonRoot(pod, appOf(pod), imageUser);
  };

  it.each([
    ['runAsUser 0', { runAsUser: 0 }, { uid: 7 }, "container's runAsUser breaks non-root policy"],
    ['an image of root', {}, { uid: 0 }, 'container has runAsNonRoot and image will run as root'],
    [
      'an image with a named user',
      {},
      { username: 'www' },
      'container has runAsNonRoot and image has non-numeric user (www), cannot verify user is non-root',
    ],
  ])('refuses %s', (_, context, imageUser, message) => {
    const where = '(pod: "web_default(uid-1)", container: app)';
    expect(verify(context, imageUser)).toThrow(new ContainerConfigError(`${message} ${where}`));
  });

  it('accepts a user that is not root', () => {
    expect(verify({}, { uid: 7 })).not.toThrow();
    expect(verify({ runAsUser: 7 }, { uid: 0 })).not.toThrow();
    expect(verify({}, {})).not.toThrow();
  });

  it('accepts root where the pod or the container may run as root', () => {
    expect(verify({ runAsNonRoot: false }, { uid: 0 })).not.toThrow();
    const pod = podWith({ securityContext: { runAsNonRoot: true } }, { securityContext: { runAsNonRoot: false } });
    expect(() => verifyRunAsNonRoot(pod, appOf(pod), { uid: 0 })).not.toThrow();
    expect(() => verifyRunAsNonRoot(podWith(), appOf(podWith()), { uid: 0 })).not.toThrow();
  });
});
