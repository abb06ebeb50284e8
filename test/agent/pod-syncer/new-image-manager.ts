import { systemDisk } from '../../../src/shared/disk.ts';
import { silentLogger } from 'kubelet-status-manager/testing';
import type { Clock } from '../../../src/shared/clock.ts';
import { ImageManager, type ImageManagerOptions } from '../../../src/agent/pod-syncer/image-manager.ts';
import { ImagePullManager } from '../../../src/agent/image-pulls/image-pull-manager.ts';
import { imagePullCredentialsVerification } from '../../../src/agent/image-pulls/verification-policy.ts';

/** With the kubelet's defaults, and records in memory. */
export function newImageManager(
  options: Omit<ImageManagerOptions, 'pullManager' | 'parallelImagePulls' | 'clock'> & {
    readonly clock: Clock;
    readonly parallelImagePulls?: number;
  },
): ImageManager {
  const pullManager = new ImagePullManager({
    disk: systemDisk,
    runtime: {},
    clock: options.clock,
    logger: silentLogger,
    rootDirectory: undefined,
    requireCredentialVerification: imagePullCredentialsVerification(),
  });
  return new ImageManager({ parallelImagePulls: 1, ...options, pullManager });
}
