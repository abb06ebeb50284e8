import { existsSync, readFileSync } from 'node:fs';
import { type KubeObject, podSpecOf } from '../../kube/objects/kube-object.ts';
import { allContainersOf } from '../../kube/pods/pod-containers.ts';
import type { Container, Pod } from '../../kube/objects/types.ts';
import type { PodAdmitAttributes, PodAdmitHandler, PodAdmitResult } from '../allocation/pod-admit-handler.ts';

type AppArmorProfile = KubeObject<'AppArmorProfile'>;

const annotationPrefix = 'container.apparmor.security.beta.kubernetes.io/';

/**
 * The profile of a container; undefined leaves it to the runtime. Static pods may have it as an annotation; for other pods,
 * the API server turns the annotation into a field. Source: kubelet `apparmor.GetProfile`.
 */
export function appArmorProfile(pod: Pod, container: Container): AppArmorProfile | undefined {
  return (
    container.securityContext?.appArmorProfile ??
    profileOfAnnotation(pod.metadata?.annotations?.[annotationPrefix + container.name]) ??
    podSpecOf(pod).securityContext?.appArmorProfile
  );
}

/** In the format of the deprecated annotation. Source: kubelet `getAppArmorProfile`. */
export function deprecatedAppArmorProfile({ type, localhostProfile = '' }: AppArmorProfile): string {
  if (type === 'RuntimeDefault') return 'runtime/default';
  return type === 'Localhost' ? `localhost/${localhostProfile}` : 'unconfined';
}

/** Source: kubelet `getProfileFromPodAnnotations`. */
function profileOfAnnotation(value: string | undefined): AppArmorProfile | undefined {
  if (value === 'runtime/default') return { type: 'RuntimeDefault' };
  if (value === 'unconfined') return { type: 'Unconfined' };
  if (value?.startsWith('localhost/') !== true) return undefined;
  return { type: 'Localhost', localhostProfile: value.slice('localhost/'.length) };
}

/**
 * Refuses a pending pod with a profile that this machine cannot enforce. Source: kubelet `appArmorAdmitHandler`,
 * `apparmor.Validate`.
 */
export class AppArmorAdmitHandler implements PodAdmitHandler {
  #hostError: string | undefined;

  /** @param hostError why the machine has no AppArmor; default: read when a pod asks for it */
  constructor(hostError?: string) {
    this.#hostError = hostError;
  }

  admit({ pod }: PodAdmitAttributes): PodAdmitResult {
    const error = (pod.status?.phase ?? 'Pending') === 'Pending' ? this.#errorOf(pod) : undefined;
    if (error === undefined) return { admit: true };
    return { admit: false, reason: 'AppArmor', message: `Cannot enforce AppArmor: ${error}` };
  }

  #errorOf(pod: Pod): string | undefined {
    const profiles = allContainersOf(pod.spec).map((one) => appArmorProfile(pod, one));
    const ofPod = podSpecOf(pod).securityContext?.appArmorProfile;
    if (![...profiles, ofPod].some((profile) => profile !== undefined && profile.type !== 'Unconfined'))
      return undefined;
    this.#hostError ??= appArmorHostError();
    if (this.#hostError !== '') return this.#hostError;
    const isNameless = profiles.some(
      (profile) => profile?.type === 'Localhost' && (profile.localhostProfile ?? '').trim() === '',
    );
    return isNameless ? 'invalid empty AppArmor profile name: ""' : undefined;
  }
}

/** Empty if the machine enforces profiles. Source: kubelet `apparmor.validateHost`. */
function appArmorHostError(): string {
  try {
    const isEnabled =
      existsSync('/sys/kernel/security/apparmor') &&
      readFileSync('/sys/module/apparmor/parameters/enabled', 'utf8').startsWith('Y');
    if (isEnabled) return '';
  } catch {
    // The kernel has no such module.
  }
  return 'AppArmor is not enabled on the host';
}
