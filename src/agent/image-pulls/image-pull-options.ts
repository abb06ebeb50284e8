import { refuseOption } from '../../shared/errors.ts';
import { requireBooleanOption, requireFields } from '../../shared/validate.ts';
import {
  type ImagePullCredentialsVerificationPolicy,
  imagePullCredentialsVerification,
} from './verification-policy.ts';

/** How images are pulled, and which pods may use those that are present. Source: kubelet `KubeletConfiguration`. */
export interface ImagePullOptions {
  /** Pull one image after the other. Default: true, unless `maxParallelImagePulls` is above 1. */
  readonly serializeImagePulls?: boolean | undefined;
  /** How many images are pulled at a time if they are not serialized. Default: no limit. */
  readonly maxParallelImagePulls?: number | undefined;
  /**
   * When a pod with another pull policy than Always needs credentials for an image that is present: `NeverVerify`;
   * `NeverVerifyPreloadedImages`, if the agent has pulled it; `NeverVerifyAllowlistedImages`, unless it is in
   * `preloadedImagesVerificationAllowlist`; `AlwaysVerify`. The pod then needs a Secret that has pulled the image before, or
   * pulls it again. Default: `NeverVerifyPreloadedImages`.
   */
  readonly imagePullCredentialsVerificationPolicy?: ImagePullCredentialsVerificationPolicy | undefined;
  /** Images without tag and digest, or the start of several: `registry.example/team/*`. Default: none. */
  readonly preloadedImagesVerificationAllowlist?: readonly string[] | undefined;
}

const fields: Readonly<Record<keyof ImagePullOptions, true>> = {
  serializeImagePulls: true,
  maxParallelImagePulls: true,
  imagePullCredentialsVerificationPolicy: true,
  preloadedImagesVerificationAllowlist: true,
};

/** @throws StatusManagerError INVALID_OPTION */
export function requireImagePulls(options: ImagePullOptions): void {
  requireFields('imagePulls', options, Object.keys(fields));
  const { serializeImagePulls, maxParallelImagePulls: parallel, ...verification } = options;
  if (serializeImagePulls !== undefined) requireBooleanOption('imagePulls.serializeImagePulls', serializeImagePulls);
  if (parallel !== undefined && !(Number.isInteger(parallel) && parallel >= 1))
    refuseOption('imagePulls.maxParallelImagePulls', 'an integer ≥ 1', parallel);
  if (serializeImagePulls === true && parallel !== undefined && parallel > 1)
    refuseOption('imagePulls.maxParallelImagePulls', 'at most 1, as `serializeImagePulls` is true', parallel);
  const { preloadedImagesVerificationAllowlist: allowlist = [] } = verification;
  if (!Array.isArray(allowlist) || !allowlist.every((each) => typeof each === 'string'))
    refuseOption('imagePulls.preloadedImagesVerificationAllowlist', 'a list of images');
  imagePullCredentialsVerification(verification.imagePullCredentialsVerificationPolicy, allowlist);
}

/** How many images are pulled at a time. Source: kubelet `SetDefaults_KubeletConfiguration`. */
export function parallelImagePulls({
  maxParallelImagePulls = Number.POSITIVE_INFINITY,
  serializeImagePulls = maxParallelImagePulls === Number.POSITIVE_INFINITY,
}: ImagePullOptions): number {
  return serializeImagePulls ? 1 : maxParallelImagePulls;
}
