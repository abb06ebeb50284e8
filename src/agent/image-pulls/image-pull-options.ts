import { refuseOption } from '../../shared/errors.ts';
import {
  aBoolean,
  integer,
  optional,
  type OptionChecks,
  requireOptions,
  unchecked,
} from '../../shared/option-checks.ts';
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
  /** Images without tag and digest, or a prefix of several: `registry.example/team/*`. Default: none. */
  readonly preloadedImagesVerificationAllowlist?: readonly string[] | undefined;
}

const checks: OptionChecks<ImagePullOptions> = {
  serializeImagePulls: aBoolean,
  maxParallelImagePulls: integer(1),
  imagePullCredentialsVerificationPolicy: unchecked,
  preloadedImagesVerificationAllowlist: optional(
    'a list of images',
    (list: unknown) => Array.isArray(list) && list.every((image) => typeof image === 'string'),
  ),
};

/** @throws StatusManagerError INVALID_OPTION */
export function requireImagePulls(options: ImagePullOptions): void {
  requireOptions(options, checks, 'imagePulls');
  const { serializeImagePulls, maxParallelImagePulls: parallel = 1 } = options;
  if (serializeImagePulls === true && parallel > 1)
    refuseOption('imagePulls.maxParallelImagePulls', 'at most 1, as `serializeImagePulls` is true', parallel);
  const { imagePullCredentialsVerificationPolicy: policy, preloadedImagesVerificationAllowlist: allowlist } = options;
  imagePullCredentialsVerification(policy, allowlist ?? []);
}

/** How many images are pulled at a time. Source: kubelet `SetDefaults_KubeletConfiguration`. */
export function parallelImagePulls({
  maxParallelImagePulls = Number.POSITIVE_INFINITY,
  serializeImagePulls = maxParallelImagePulls === Number.POSITIVE_INFINITY,
}: ImagePullOptions): number {
  return serializeImagePulls ? 1 : maxParallelImagePulls;
}
