import { describe, expect, it } from 'vitest';
import type { ValidPod } from 'kubelet-status-manager';
import { AppArmorAdmitHandler, appArmorProfile } from '../../../src/node/admission/app-armor.ts';

const key = 'container.apparmor.security.beta.kubernetes.io/app';
const podOf = (annotation: string | undefined, spec: object = {}, container: object = {}): ValidPod => ({
  metadata: {
    uid: 'u',
    name: 'web',
    namespace: 'ns',
    ...(annotation !== undefined && { annotations: { [key]: annotation } }),
  },
  spec: { containers: [{ name: 'app', ...container }], ...spec },
});
const field = (type: string, localhostProfile?: string) => ({
  securityContext: { appArmorProfile: { type, ...(localhostProfile !== undefined && { localhostProfile }) } },
});
const resultOf = (pod: ValidPod, hostError: string) =>
  new AppArmorAdmitHandler(hostError).admit({ pod, otherPods: [], operation: 'add' });
const refusal = (why: string) => ({ admit: false, reason: 'AppArmor', message: `Cannot enforce AppArmor: ${why}` });

describe('TestValidateBadHost, TestValidateValidHost: a pod with a profile', () => {
  const noHost = 'AppArmor is not enabled on the host';
  const nameless = 'invalid empty AppArmor profile name: ""';
  it.each<[string, ValidPod, string | undefined, string | undefined]>([
    ['none', podOf(undefined), undefined, undefined],
    ['runtime/default as an annotation', podOf('runtime/default'), noHost, undefined],
    ['localhost/docker-default as an annotation', podOf('localhost/docker-default'), noHost, undefined],
    ['localhost/ as an annotation', podOf('localhost/'), noHost, nameless],
    ['Localhost with a blank name', podOf(undefined, {}, field('Localhost', ' ')), noHost, nameless],
    ['RuntimeDefault of the pod', podOf(undefined, field('RuntimeDefault')), noHost, undefined],
    ['Unconfined', podOf('unconfined', {}, field('Unconfined')), undefined, undefined],
  ])('%s is admitted only where it can be enforced', (_name, pod, withoutAppArmor, withAppArmor) => {
    const expected = (why: string | undefined) => (why === undefined ? { admit: true } : refusal(why));
    expect(resultOf(pod, noHost)).toEqual(expected(withoutAppArmor));
    expect(resultOf(pod, '')).toEqual(expected(withAppArmor));
  });

  it('that is already running is not checked again', () => {
    const pod = podOf('runtime/default');
    expect(resultOf({ ...pod, status: { phase: 'Running' } }, noHost)).toEqual({ admit: true });
    expect(resultOf({ ...pod, status: { phase: 'Pending' } }, noHost)).toEqual(refusal(noHost));
  });
});

describe('TestGetProfile: appArmorProfile', () => {
  it('the field of the container comes before the annotation, and that before the field of the pod', () => {
    const profileOf = (pod: ValidPod) => appArmorProfile(pod, pod.spec!.containers![0]!);
    const ofPod = field('Unconfined');
    expect(profileOf(podOf('localhost/a', ofPod, field('RuntimeDefault')))).toEqual({ type: 'RuntimeDefault' });
    expect(profileOf(podOf('localhost/a', ofPod))).toEqual({ type: 'Localhost', localhostProfile: 'a' });
    expect(profileOf(podOf('nonsense', ofPod))).toEqual({ type: 'Unconfined' });
    expect(profileOf(podOf(undefined))).toBeUndefined();
  });
});
