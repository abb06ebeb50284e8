import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { ImageError } from '../../src/node/runtime/container-runtime.ts';
import { CRIError } from '../../src/cri/cri-error.ts';
import { isWithoutAnswer, pullError } from '../../src/cri/cri-images.ts';

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

  it.each([
    ['Unavailable', status.UNAVAILABLE, true],
    ['Canceled', status.CANCELLED, true],
    ['DeadlineExceeded', status.DEADLINE_EXCEEDED, true],
    ['Internal', status.INTERNAL, true],
    ['NotFound', status.NOT_FOUND, false],
    ['Unknown', status.UNKNOWN, false],
  ])('%s leaves open whether the image was pulled: %o %o', (_, code, isOpen) => {
    expect(isWithoutAnswer(errorOf(code, 'failed'))).toBe(isOpen);
  });
});
