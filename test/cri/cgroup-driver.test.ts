import { status } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { requireCgroupDriver } from '../../src/cri/cgroup-driver.ts';
import { type CRIClient, CRIError } from '../../src/cri/cri-client.ts';

const endpoint = 'unix:///run/runtime.sock';

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

it.each<[string, Pick<CRIClient, 'call'>, string, string | undefined]>([
  ['containerd 2', says('SYSTEMD'), 'containerd', '/kubepods'],
  ['containerd 2, which chooses the cgroups', says('SYSTEMD'), 'containerd', undefined],
  ['containerd 1', isConfigured(true), 'containerd', '/kubepods'],
])('the systemd driver is refused with the setting to change: %s', async (_name, client, runtimeName, cgroupRoot) => {
  await expect(requireCgroupDriver(client, { endpoint, runtimeName, cgroupRoot })).rejects.toThrow(
    /unix:\/\/\/run\/runtime\.sock uses the systemd cgroup driver.* SystemdCgroup = false/,
  );
});

it('the systemd driver of another runtime is refused unless the runtime chooses the cgroups', async () => {
  const options = { endpoint, runtimeName: 'cri-o', cgroupRoot: '/kubepods' };
  await expect(requireCgroupDriver(says('SYSTEMD'), options)).rejects.toThrow(/systemd cgroup driver.* cgroupfs/);
  await expect(requireCgroupDriver(says('SYSTEMD'), { ...options, cgroupRoot: undefined })).resolves.toBeUndefined();
});

it.each([
  ['cgroupfs', says('CGROUPFS')],
  ['cgroupfs of containerd 1', isConfigured(false)],
  ['a runtime that does not say', runtime({ Status: { info: {} } })],
  ['a runtime whose configuration is not JSON', runtime({ Status: { info: { config: 'no' } } })],
])('accepts %s', async (_name, client) => {
  const options = { endpoint, runtimeName: 'containerd', cgroupRoot: '/kubepods' };
  await expect(requireCgroupDriver(client, options)).resolves.toBeUndefined();
});

it('a call that fails otherwise fails the start', async () => {
  const options = { endpoint, runtimeName: 'containerd', cgroupRoot: '/kubepods' };
  await expect(requireCgroupDriver(runtime({}, status.UNAVAILABLE), options)).rejects.toThrow('refused');
});
