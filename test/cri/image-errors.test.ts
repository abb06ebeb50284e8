import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { ImageError } from '../../src/agent/runtime/container-runtime.ts';
import { CRIError } from '../../src/cri/cri-client.ts';
import { pullError, requireImageName } from '../../src/cri/image-errors.ts';

describe('requireImageName', () => {
  it.each([
    'busybox',
    'busybox:1.37.0-2',
    'library/busybox',
    'docker.io/library/busybox:1',
    'localhost:5000/a/b__c/d--e',
    'LOCAL.example/a:Tag_1',
    '[fd00::1]:5000/a',
    `registry.example/a@sha256:${'0'.repeat(64)}`,
    `registry.example/a:1@sha256:${'0'.repeat(64)}`,
  ])('accepts %s', (image) => {
    expect(() => requireImageName(image)).not.toThrow();
  });

  it.each([
    [':::', 'invalid reference format'],
    ['busybox:', 'invalid reference format'],
    ['a//b', 'invalid reference format'],
    ['-a', 'invalid reference format'],
    ['a@sha256:1', 'invalid reference format'],
    ['BusyBox:1', 'invalid reference format: repository name (BusyBox) must be lowercase'],
    ['example.com/A/b', 'invalid reference format: repository name (A/b) must be lowercase'],
    ['a'.repeat(64), `invalid repository name (${'a'.repeat(64)}), cannot specify 64-byte hexadecimal strings`],
  ])('refuses %s as Go does', (image, why) => {
    expect(() => requireImageName(image)).toThrow(
      expect.objectContaining({
        reason: 'InvalidImageName',
        message: `couldn't parse image name "${image}": ${why}`,
      }),
    );
  });
});

describe('pullError', () => {
  const errorOf = (code: number, details: string) =>
    pullError(new CRIError(Object.assign(new Error(details), { code, details, metadata: undefined as never })));

  it.each(['RegistryUnavailable', 'SignatureValidationFailed'] as const)('%s is the reason', (reason) => {
    for (const [details, message] of [
      [reason, ''],
      [`${reason}: no route`, 'no route'],
    ] as const) {
      const error = errorOf(status.UNKNOWN, details);
      expect(error).toBeInstanceOf(ImageError);
      expect(error).toMatchObject({ reason, message });
    }
  });

  it('shows the code as Go does, unless it is unknown', () => {
    expect(errorOf(status.UNKNOWN, 'failed to pull').message).toBe('failed to pull');
    expect(errorOf(status.NOT_FOUND, 'no such image').message).toBe('rpc error: code = NotFound desc = no such image');
  });
});
