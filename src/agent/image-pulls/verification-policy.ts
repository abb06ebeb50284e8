import { refuseOption } from '../../shared/errors.ts';
import { trimImageTagDigest } from './pulled-record.ts';

/**
 * For which present images credentials are verified. Source: kubelet.config.k8s.io/v1beta1
 * `ImagePullCredentialsVerificationPolicy`.
 */
export type ImagePullCredentialsVerificationPolicy =
  | 'NeverVerify'
  | 'NeverVerifyPreloadedImages'
  | 'NeverVerifyAllowlistedImages'
  | 'AlwaysVerify';

/** Whether a pod needs credentials for an image that is present. Source: kubelet `ImagePullPolicyEnforcer`. */
export type RequireCredentialVerification = (image: string, isPulledByAgent: boolean) => boolean;

/** @throws StatusManagerError INVALID_OPTION. Source: kubelet `NewImagePullCredentialVerificationPolicy`. */
export function imagePullCredentialsVerification(
  policy: ImagePullCredentialsVerificationPolicy = 'NeverVerifyPreloadedImages',
  allowlist: readonly string[] = [],
): RequireCredentialVerification {
  if (allowlist.length > 0 && policy !== 'NeverVerifyAllowlistedImages')
    refuseOption(
      'imagePulls.preloadedImagesVerificationAllowlist',
      'absent, as `imagePullCredentialsVerificationPolicy` is not NeverVerifyAllowlistedImages',
    );
  switch (policy) {
    case 'NeverVerify':
      return () => false;
    case 'NeverVerifyPreloadedImages':
      return (_image, isPulledByAgent) => isPulledByAgent;
    case 'NeverVerifyAllowlistedImages': {
      const patterns = allowlist.map(requirePattern);
      return (image) => !patterns.some((pattern) => matches(pattern, trimImageTagDigest(image)));
    }
    case 'AlwaysVerify':
      return () => true;
    default:
      return refuseOption(
        'imagePulls.imagePullCredentialsVerificationPolicy',
        'NeverVerify, NeverVerifyPreloadedImages, NeverVerifyAllowlistedImages or AlwaysVerify',
        policy,
      );
  }
}

function matches(pattern: string, image: string): boolean {
  return pattern.endsWith('/*') ? image.startsWith(pattern.slice(0, -1)) : image === pattern;
}

/** An image without tag and digest, or `PREFIX/*`. Source: kubelet `getAllowlistImagePattern`. */
function requirePattern(pattern: string, index: number): string {
  const path = `imagePulls.preloadedImagesVerificationAllowlist[${index}]`;
  const prefix = pattern.endsWith('/*') ? pattern.slice(0, -2) : pattern;
  if (prefix === '' || /[\s*]/.test(prefix))
    refuseOption(path, 'an image, or the start of one: registry.example/team/*', pattern);
  if (prefix === pattern && trimImageTagDigest(pattern) !== pattern)
    refuseOption(path, 'without tag and digest', pattern);
  return pattern;
}
