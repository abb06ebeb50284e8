import { status } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { createCgroupManager } from '../../src/cri/cgroup-driver.ts';
import { CgroupFiles } from '../../src/cri/cgroup-files.ts';
import { CgroupfsManager } from '../../src/cri/cgroup-manager.ts';
import { type CRIClient } from '../../src/cri/cri-client.ts';
import { CRIError } from '../../src/cri/cri-error.ts';
import { SystemdCgroupManager } from '../../src/cri/systemd-cgroup-manager.ts';

const containerd = {
  endpoint: 'unix:///run/runtime.sock',
  runtimeName: 'containerd',
  cgroupRoot: '/kubepods',
  files: new CgroupFiles('/missing'),
  run: async () => {},
};

function refusal(code: status): CRIError {
  return new CRIError(Object.assign(new Error(), { code, details: 'refused', metadata: undefined as never }));
}

/** A runtime that has these responses, and refuses all other calls. */
function runtime(responses: Readonly<Record<string, object>>, code = status.UNIMPLEMENTED): Pick<CRIClient, 'call'> {
  const call = async (method: string): Promise<object> => {
    const response = responses[method];
    if (response === undefined) throw refusal(code);
    return response;
  };
  return { call: call as CRIClient['call'] };
}

const says = (driver: string) => runtime({ RuntimeConfig: { linux: { cgroup_driver: driver } } });
/** As containerd 1.6 and 1.7 show it. */
const isConfigured = (SystemdCgroup: boolean) =>
  runtime({
    Status: {
      info: {
        config: JSON.stringify({
          containerd: {
            defaultRuntimeName: 'runc',
            runtimes: { runc: { options: { SystemdCgroup } }, other: { options: { SystemdCgroup: true } } },
          },
        }),
      },
    },
  });

it.each([
  ['containerd 2', says('SYSTEMD')],
  ['containerd 1', isConfigured(true)],
])('cgroups are slices of systemd if the runtime uses the driver systemd: %s', async (_name, client) => {
  expect(await createCgroupManager(client, containerd)).toBeInstanceOf(SystemdCgroupManager);
});

it.each([
  ['cgroupfs', says('CGROUPFS')],
  ['cgroupfs of containerd 1', isConfigured(false)],
  ['a runtime that does not say', runtime({ Status: { info: {} } })],
  ['a runtime whose configuration is not JSON', runtime({ Status: { info: { config: 'no' } } })],
])('cgroups are folders otherwise: %s', async (_name, client) => {
  expect(await createCgroupManager(client, containerd)).toBeInstanceOf(CgroupfsManager);
});

it('without a root, the runtime chooses the cgroups, which containerd with the driver systemd cannot', async () => {
  const options = { ...containerd, cgroupRoot: undefined };
  expect(await createCgroupManager(says('CGROUPFS'), options)).toBeUndefined();
  expect(await createCgroupManager(says('SYSTEMD'), { ...options, runtimeName: 'cri-o' })).toBeUndefined();
  await expect(createCgroupManager(says('SYSTEMD'), options)).rejects.toThrow(
    'The container runtime at unix:///run/runtime.sock uses the cgroup driver systemd and needs the slice of each pod: set cgroupRoot',
  );
});

it('a systemd that cannot be reached fails the start with what to do', async () => {
  const run = () => Promise.reject(new Error('busctl: spawn busctl ENOENT'));
  await expect(createCgroupManager(says('SYSTEMD'), { ...containerd, run })).rejects.toThrow(
    /runtime\.sock uses the cgroup driver systemd, but systemd cannot be reached: .*ENOENT\. Run the agent on the host.* or configure the cgroup driver cgroupfs/,
  );
});

it('a call that fails otherwise fails the start', async () => {
  await expect(createCgroupManager(runtime({}, status.UNAVAILABLE), containerd)).rejects.toThrow('refused');
});

it('whether systemd can be reached is asked over D-Bus and with systemctl, once each', async () => {
  const calls: string[] = [];
  const run = async (program: string, args: readonly string[]): Promise<void> =>
    void calls.push([program, ...args].join(' '));
  await createCgroupManager(says('SYSTEMD'), { ...containerd, run });
  const systemd = 'org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager';
  expect(calls).toEqual([`busctl -- get-property ${systemd} Version`, 'systemctl show --property=Version']);
});
