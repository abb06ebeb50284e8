import { beforeEach, describe, expect, it } from 'vitest';
import type { ValidPod } from 'kubelet-status-manager';
import { ImageError } from 'kubelet-status-manager/agent';
import { FakeClock, FakeContainerRuntime } from 'kubelet-status-manager/testing';
import { sleep } from '../../../src/shared/clock.ts';
import type { PodEvent } from '../../../src/node/events/event-recorder.ts';
import type { ImagePullManager } from '../../../src/agent/image-pulls/image-pull-manager.ts';
import { boundedRuntime } from '../../../src/node/runtime/bounded-runtime.ts';
import type { ImagePullSecret, PulledImage } from '../../../src/node/runtime/container-runtime.ts';
import { ImageManager } from '../../../src/agent/pod-syncer/image-manager.ts';
import { newImageManager } from './new-image-manager.ts';
import { SyncActionError } from '../../../src/node/pod-workers/sync-action.ts';
import { asBounded } from '../../support/as-bounded.ts';
import { podScope } from '../../support/pod-scope.ts';

const pod: ValidPod = { metadata: { uid: 'bar', name: 'test_pod', namespace: 'test-ns' } };

let clock: FakeClock;
let runtime: FakeContainerRuntime;
let events: string[];
let manager: ImageManager;
beforeEach(() => {
  clock = new FakeClock('2026-01-02T03:04:05Z');
  runtime = new FakeContainerRuntime({ clock });
  runtime.images.add('present_image');
  events = [];
  manager = newImageManager({
    runtime: asBounded(runtime),
    clock,
    eventRecorder: { event: ({ reason }) => void events.push(reason) },
  });
});

const sync = ({ signal } = new AbortController()) => ({ signal, scope: podScope(pod) });

/** The reason of the failure or `ok`, what the runtime was asked, and the events. */
async function ensure(image: string, imagePullPolicy?: string) {
  runtime.calls.splice(0);
  events.splice(0);
  const ensuring = manager.ensureImageExists(pod, { name: 'app', image, imagePullPolicy }, sync());
  const outcome = await ensuring.then(
    () => 'ok',
    (thrown: unknown) => (thrown instanceof SyncActionError ? thrown.reason : String(thrown)),
  );
  return [outcome, runtime.calls.map(({ method }) => method), [...events]];
}
const many = Number.POSITIVE_INFINITY;

describe('TestParallelPuller', () => {
  it('image missing, pull', async () => {
    expect(await ensure('missing_image', 'IfNotPresent')).toEqual([
      ...['ok', ['imageRef', 'pullImage'], ['Pulling', 'Pulled']],
    ]);
  });

  it("image present, allow all, don't pull", async () => {
    for (let i = 0; i < 3; i++) {
      expect(await ensure('present_image', 'IfNotPresent')).toEqual(['ok', ['imageRef'], ['Pulled']]);
    }
  });

  it('image present, pull', async () => {
    for (let i = 0; i < 3; i++) {
      expect(await ensure('present_image', 'Always')).toEqual(['ok', ['pullImage'], ['Pulling', 'Pulled']]);
    }
  });

  it('image missing, never pull', async () => {
    expect(await ensure('missing_image', 'Never')).toEqual([
      ...['ErrImageNeverPull', ['imageRef'], ['ErrImageNeverPull']],
    ]);
  });

  it('image missing, pull if not present, fail on image inspect', async () => {
    runtime.fail({ method: 'imageRef' }, 'unknown inspectError', many);
    for (let i = 0; i < 3; i++) {
      expect(await ensure('missing_image', 'IfNotPresent')).toEqual([
        ...['ImageInspectError', ['imageRef'], ['InspectFailed']],
      ]);
    }
  });

  it('image missing, unable to fetch: put off for 10, 20 s', async () => {
    runtime.fail({ method: 'pullImage' }, '404', many);
    const tried = ['ErrImagePull', ['imageRef', 'pullImage'], ['Pulling', 'Failed']];
    const putOff = ['ImagePullBackOff', ['imageRef'], ['BackOff']];
    expect(await ensure('typo_image', 'IfNotPresent')).toEqual(tried);
    clock.advance(9000);
    expect(await ensure('typo_image', 'IfNotPresent')).toEqual(putOff);
    clock.advance(1000);
    expect(await ensure('typo_image', 'IfNotPresent')).toEqual(tried);
    clock.advance(19_000);
    expect(await ensure('typo_image', 'IfNotPresent')).toEqual(putOff);
    clock.advance(1000);
    expect(await ensure('typo_image', 'IfNotPresent')).toEqual(tried);
  });
});

describe('what the status says', () => {
  const failureOf = async (): Promise<string> => {
    const thrown: unknown = await manager.ensureImageExists(pod, { name: 'app', image: 'x:1' }, sync()).catch((e) => e);
    return thrown instanceof Error ? thrown.message : '';
  };

  it('the reason of the last failed pull during its back-off', async () => {
    runtime.fail({ method: 'pullImage' }, 'registry is down');
    expect(await failureOf()).toBe('registry is down');
    expect(await failureOf()).toBe('Back-off pulling image "x:1": ErrImagePull: registry is down');
  });

  it('a pull that is aborted because the pod is terminated is not a failure', async () => {
    runtime.delay({ method: 'pullImage' }, 60_000);
    const controller = new AbortController();
    const pulling = manager.ensureImageExists(pod, { name: 'app', image: 'x:1' }, sync(controller));
    await Promise.resolve();
    controller.abort(new Error('the pod ends'));
    await expect(pulling).rejects.toThrow('the pod ends');
    expect(events).toEqual(['Pulling']);
  });
});

describe('the events of an image', () => {
  /** Pulls `image` with a runtime that needs `ms` for it; resolves with the events and the cause of the failure. */
  async function eventsOf(image: string, imagePullPolicy?: string, ms = 0) {
    const recorded: string[] = [];
    const event = ({ container, type, reason, message }: PodEvent) =>
      void recorded.push(`${container}: ${type} ${reason}: ${message}`);
    manager = newImageManager({ runtime: asBounded(runtime), clock, eventRecorder: { event } });
    runtime.delay({ method: 'pullImage' }, ms);
    const ensuring = manager.ensureImageExists(pod, { name: 'app', image, imagePullPolicy }, sync());
    const cause = ensuring.then(
      () => undefined,
      (thrown: Error) => thrown.cause,
    );
    await clock.advanceAsync(ms);
    return { recorded, cause: await cause };
  }

  it('that is present', async () => {
    expect(await eventsOf('present_image', 'IfNotPresent')).toEqual({
      recorded: [
        'app: Normal Pulled: Container image "present_image" already present on machine and can be accessed by the pod',
      ],
    });
  });

  it('that may not be pulled', async () => {
    expect(await eventsOf('x:1', 'Never')).toEqual({
      recorded: ['app: Warning ErrImageNeverPull: Container image "x:1" is not present with pull policy of Never'],
    });
  });

  it('that cannot be inspected, whose failure has the error of the runtime', async () => {
    runtime.fail({ method: 'imageRef' }, 'disk error');
    expect(await eventsOf('x:1')).toEqual({
      recorded: ['app: Warning InspectFailed: Failed to inspect image "x:1": disk error'],
      cause: new Error('disk error'),
    });
  });

  it('that cannot be pulled, whose failure has the error of the runtime', async () => {
    runtime.fail({ method: 'pullImage' }, 'registry is down');
    expect(await eventsOf('x:1')).toEqual({
      recorded: [
        'app: Normal Pulling: Pulling image "x:1"',
        'app: Warning Failed: Failed to pull image "x:1": registry is down',
      ],
      cause: new Error('registry is down'),
    });
  });

  it.each([
    [350, '350ms'],
    [1000, '1s'],
    [1500, '1.5s'],
    [120_500, '2m0.5s'],
    [3_600_000, '1h0m0s'],
    [5_430_000, '1h30m30s'],
  ])('that is pulled in %d ms, as Go formats them: %s', async (ms, text) => {
    const { recorded } = await eventsOf('x:1', 'Always', ms);
    expect(recorded.at(-1)).toBe(
      `app: Normal Pulled: Successfully pulled image "x:1" in ${text} (${text} including waiting).`,
    );
  });
});

describe('an image that was pulled with a Secret', () => {
  const secret: ImagePullSecret = { uid: 'u', namespace: 'test-ns', name: 'pull', credentialHash: 'hash' };
  const message = 'Container image "app:1" is not present with pull policy of Never';
  /** Of the pod that needs the image. */
  let secrets: ImagePullSecret[];
  beforeEach(async () => {
    secrets = [secret];
    const { imageRef, pullImage } = runtime;
    const methods = {
      imageRef: (image: string) => imageRef!(image),
      imagePullSecrets: async () => secrets,
      pullImage: async (image: string, one: ValidPod) => {
        const pulled = (await pullImage!(image, one)) as string;
        if (secrets.length === 0) throw new Error('401 Unauthorized');
        return { imageRef: pulled, pullSecret: secret };
      },
    };
    const event = ({ reason }: PodEvent) => void events.push(reason);
    manager = newImageManager({ runtime: asBounded(methods), clock, eventRecorder: { event } });
    await ensure('app:1', 'IfNotPresent');
  });

  it('is used by a pod with the Secret', async () => {
    expect(await ensure('app:1', 'IfNotPresent')).toEqual(['ok', ['imageRef'], ['Pulled']]);
    expect(await ensure('app:1', 'Never')).toEqual(['ok', ['imageRef'], ['Pulled']]);
  });

  it('is pulled again by a pod without it, whose registry refuses that', async () => {
    secrets = [];
    expect(await ensure('app:1', 'IfNotPresent')).toEqual([
      ...['ErrImagePull', ['imageRef', 'pullImage'], ['Pulling', 'Failed']],
    ]);
  });

  it('is not shown to a pod without it that never pulls', async () => {
    secrets = [];
    expect(await ensure('app:1', 'Never')).toEqual(['ErrImageNeverPull', ['imageRef'], ['ErrImageNeverPull']]);
    const never = { name: 'app', image: 'app:1', imagePullPolicy: 'Never' };
    const ensuring = manager.ensureImageExists(pod, never, sync());
    await expect(ensuring).rejects.toThrow(message);
  });
});

it('an image whose pull was aborted when its pod ended is not free for pods without its Secret', async () => {
  runtime.delay({ method: 'pullImage' }, 60_000);
  const controller = new AbortController();
  const pulling = manager.ensureImageExists(pod, { name: 'app', image: 'x:1' }, sync(controller));
  await clock.advanceAsync(1000);
  controller.abort(new Error('the pod ends'));
  await expect(pulling).rejects.toThrow('the pod ends');
  // The runtime has finished it nevertheless.
  runtime.images.add('x:1');
  expect(await ensure('x:1', 'Never')).toEqual(['ErrImageNeverPull', ['imageRef'], ['ErrImageNeverPull']]);
});

it.each([
  ['is not free for pods without its Secret if the answer of the runtime was lost', true, 'ErrImageNeverPull'],
  ['counts as preloaded if the runtime has refused to pull it', false, 'ok'],
])('an image %s', async (_, mayHavePulled, expected) => {
  runtime.fail({ method: 'pullImage' }, Object.assign(new Error('failed'), { mayHavePulled }));
  await expect(manager.ensureImageExists(pod, { name: 'app', image: 'x:1' }, sync())).rejects.toThrow('failed');
  runtime.images.add('x:1');
  const [result] = await ensure('x:1', 'Never');
  expect(result).toBe(expected);
});

it.each<[string, object]>([
  ['without a reference', {}],
  ['whose Secret is invalid', { imageRef: 'x:1', pullSecret: { name: 'x' } }],
])('an image is not free for pods without its Secret if its pull had a result %s', async (_, result) => {
  Object.assign(runtime, { pullImage: async () => result as PulledImage });
  const { signal } = new AbortController();
  manager = newImageManager({
    runtime: boundedRuntime(runtime, { clock, requestTimeoutMs: 120_000, signal }),
    ...{ clock, eventRecorder: { event: () => {} } },
  });
  await expect(manager.ensureImageExists(pod, { name: 'app', image: 'x:1' }, sync())).rejects.toThrow('pullImage()');
  runtime.images.add('x:1');
  const [outcome] = await ensure('x:1', 'Never');
  expect(outcome).toBe('ErrImageNeverPull');
});

it('an image is not pulled if that cannot be recorded', async () => {
  const pullManager = { recordPullIntent: () => Promise.reject(new Error('disk full')) } as object as ImagePullManager;
  manager = new ImageManager({
    runtime: asBounded(runtime),
    clock,
    eventRecorder: { event: () => {} },
    pullManager,
    parallelImagePulls: 1,
  });
  const ensuring = manager.ensureImageExists(pod, { name: 'app', image: 'x:1' }, sync());
  await expect(ensuring).rejects.toMatchObject({
    reason: 'ErrImagePull',
    message: 'Failed to record image pull intent for container image "x:1": disk full',
  });
  expect(runtime.callsOf({ method: 'pullImage' })).toEqual([]);
});

describe('pulls at the same time', () => {
  const seconds = 1000;
  /** Starts to pull these images, of which each takes 10 s, one second after the other. */
  async function pullAll(images: readonly string[], parallelImagePulls: number) {
    const messages: string[] = [];
    const event = ({ reason, message }: PodEvent) => void (reason === 'Pulled' && messages.push(message));
    manager = newImageManager({ runtime: asBounded(runtime), clock, eventRecorder: { event }, parallelImagePulls });
    const controllers: AbortController[] = [];
    const pulls: Promise<unknown>[] = [];
    for (const image of images) {
      runtime.delay({ method: 'pullImage', image }, 10 * seconds);
      const controller = new AbortController();
      controllers.push(controller);
      pulls.push(manager.ensureImageExists(pod, { name: 'app', image }, sync(controller)).catch((error) => error));
      await clock.advanceAsync(seconds);
    }
    return { messages, controllers, pulls };
  }

  it('wait for their turn, in their order, and the event tells the waiting apart', async () => {
    const { messages } = await pullAll(['a:1', 'b:1', 'c:1'], 1);
    await clock.advanceAsync(60 * seconds);
    expect(messages).toEqual([
      'Successfully pulled image "a:1" in 10s (10s including waiting).',
      'Successfully pulled image "b:1" in 10s (19s including waiting).',
      'Successfully pulled image "c:1" in 10s (28s including waiting).',
    ]);
  });

  it('are as many as configured', async () => {
    const { messages } = await pullAll(['a:1', 'b:1', 'c:1'], 2);
    await clock.advanceAsync(60 * seconds);
    expect(messages.at(-1)).toBe('Successfully pulled image "c:1" in 10s (18s including waiting).');
  });

  it('give up their place when their pod ends, and let the next one pull after a failure', async () => {
    runtime.fail({ method: 'pullImage', image: 'a:1' }, 'no route');
    const { messages, controllers, pulls } = await pullAll(['a:1', 'b:1', 'c:1', 'd:1'], 1);
    controllers[2]!.abort(new Error('the pod ends'));
    expect(await pulls[2]).toEqual(new Error('the pod ends'));
    await clock.advanceAsync(60 * seconds);
    expect(messages.map((text) => text.slice(0, 32))).toEqual([
      'Successfully pulled image "b:1" ',
      'Successfully pulled image "d:1" ',
    ]);
  });
});

it('the duration of a pull is measured with its waiting, by the size of the image', async () => {
  const measured: unknown[] = [];
  const sizes = [undefined, 0, 1, 10 * 2 ** 20, 10 * 2 ** 20 + 1, 3 * 2 ** 30, 101 * 2 ** 30];
  const pullImage = async () => {
    await sleep(clock, 1500, new AbortController().signal);
    return { imageRef: 'x', sizeBytes: sizes.shift() };
  };
  manager = newImageManager({
    ...{ runtime: asBounded({ pullImage }), clock, eventRecorder: { event: () => {} } },
    recordMetric: (...of) => void measured.push(of),
  });
  const pulls = sizes.map(() => ensure('x:1', 'Always'));
  await clock.advanceAsync(60_000);
  await Promise.all(pulls);
  expect(measured).toEqual(
    ['N/A', 'N/A', '0-10MB', '0-10MB', '10MB-100MB', '1GB-5GB', 'GT100GB'].map((label, index) => [
      ...['image_pull_duration_seconds', 1.5 * (index + 1), label],
    ]),
  );
});

it.each([
  ['a container without an image', ''],
  ['a runtime without images', 'x:1'],
])('%s needs no pull and has no event', async (_, image) => {
  if (image !== '') manager = newImageManager({ runtime: {}, clock, eventRecorder: { event: () => expect.fail() } });
  expect(await ensure(image, 'Always')).toEqual(['ok', [], []]);
});

describe('the back-off of an image', () => {
  const failedPod: ValidPod = { metadata: { ...pod.metadata, uid: 'other' } };
  const reasonOf = (one: ValidPod, image: string): Promise<string> =>
    manager.ensureImageExists(one, { name: 'app', image }, sync()).then(
      () => 'ok',
      ({ message }: Error) => message,
    );

  it('delays neither another image of the pod nor the image of another pod', async () => {
    runtime.fail({ method: 'pullImage' }, 'no such image');
    expect(await reasonOf(failedPod, 'x:1')).toBe('no such image');
    expect(await reasonOf(failedPod, 'y:1')).toBe('ok');
    expect(await reasonOf(pod, 'x:1')).toBe('ok');
  });

  it('still says why after another image was pulled', async () => {
    runtime.fail({ method: 'pullImage' }, 'no such image');
    await reasonOf(pod, 'x:1');
    expect(await reasonOf(pod, 'y:1')).toBe('ok');
    expect(await reasonOf(pod, 'x:1')).toBe('Back-off pulling image "x:1": ErrImagePull: no such image');
  });
});

describe('an ImageError of the runtime', () => {
  const messages: string[] = [];
  beforeEach(() => {
    messages.length = 0;
    const event = ({ reason, message }: { reason: string; message: string }) =>
      void messages.push(`${reason}: ${message}`);
    manager = newImageManager({ runtime: asBounded(runtime), clock, eventRecorder: { event } });
  });
  const ensureImage = () =>
    manager
      .ensureImageExists(pod, { name: 'app', image: 'x:1' }, sync())
      .then(String, ({ reason, message }: SyncActionError) => `${reason}: ${message}`);

  it.each([
    ['RegistryUnavailable', 'no route', 'the registry is unavailable: no route'],
    ['RegistryUnavailable', '', 'the registry is unavailable'],
    ['SignatureValidationFailed', 'no key', 'the signature validation failed: no key'],
  ] as const)('%s with the message "%s" is the reason, and of the back-off, too', async (reason, details, why) => {
    runtime.fail({ method: 'pullImage' }, new ImageError(reason, details));
    const shown = `${reason}: image pull failed for x:1 because ${why}`;
    expect(await ensureImage()).toBe(shown);
    const event = details === '' ? reason : `${reason}: ${details}`;
    expect(messages.at(-1)).toBe(`Failed: Failed to pull image "x:1": ${event}`);
    expect(await ensureImage()).toBe(`ImagePullBackOff: Back-off pulling image "x:1": ${shown}`);
  });

  it.each(['imageRef', 'pullImage'] as const)('InvalidImageName from %s: no back-off', async (method) => {
    for (let i = 0; i < 2; i++) {
      runtime.fail({ method }, new ImageError('InvalidImageName', 'bad'));
      const message = 'Failed to apply default image tag "x:1": bad';
      expect(await ensureImage()).toBe(`InvalidImageName: ${message}`);
      expect(messages.at(-1)).toBe(`InspectFailed: ${message}`);
    }
  });

  it('the event contains the size of the pulled image', async () => {
    const sized = { pullImage: async () => ({ imageRef: 'sha256:1', sizeBytes: 2_223_049 }) };
    const event = ({ message }: { message: string }) => void messages.push(message);
    manager = newImageManager({ runtime: asBounded(sized), clock, eventRecorder: { event } });
    expect(await ensureImage()).toBe('sha256:1');
    expect(messages.at(-1)).toBe(
      'Successfully pulled image "x:1" in 0s (0s including waiting). Image size: 2223049 bytes.',
    );
  });
});

describe('TestApplyDefaultImageTag, as the default of the pull policy', () => {
  it.each([
    ['root', 'Always'],
    ['root:latest', 'Always'],
    ['localhost:5000/root', 'Always'],
    ['root:tag', 'IfNotPresent'],
    ['localhost:5000/root:tag', 'IfNotPresent'],
    ['root@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', 'IfNotPresent'],
    ['root:latest@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', 'IfNotPresent'],
  ])('%s: %s', async (image, policy) => {
    runtime.images.add(image);
    const [, calls] = await ensure(image);
    expect(calls).toEqual([policy === 'Always' ? 'pullImage' : 'imageRef']);
  });
});

it('a wall clock that is set back by an hour does not prolong a back-off by an hour', async () => {
  runtime.fail({ method: 'pullImage' }, 'no such image');
  expect((await ensure('missing_image'))[0]).toBe('ErrImagePull');
  clock.setWallTime(clock.now() - 3_600_000);
  clock.advance(10_000);
  expect((await ensure('missing_image'))[0]).toBe('ok');
});
