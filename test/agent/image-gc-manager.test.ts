import { beforeEach, describe, expect, it } from 'vitest';
import { FakeClock, type RecordingLogger, recordingLogger, settle } from 'kubelet-status-manager/testing';
import type { RuntimePod } from 'kubelet-status-manager/agent';
import type { ObjectEvent, PodEvent } from '../../src/node/events/event-recorder.ts';
import { ImageGCManager, type ImageGCPolicy } from '../../src/agent/image-gc/image-gc-manager.ts';
import type { FsStats } from '../../src/node/runtime/pod-stats.ts';
import type { RuntimeImage } from '../../src/node/runtime/runtime-storage.ts';
import { asBounded } from '../support/as-bounded.ts';

const minute = 60_000;

let clock: FakeClock;
let images: RuntimeImage[];
let pods: RuntimePod[];
let availableBytes: number;
let events: (ObjectEvent | PodEvent)[];
let removeImage: (id: string) => void;
/** Images that remained, and when they were listed. */
/** The images that remained, and the call of `beginImageGC` before that. */
let hookCalls: [remaining: ReadonlySet<string>, begun: number][];
let begun: number;
let imageFs: Partial<FsStats> | undefined;
let logger: RecordingLogger;
let measured: unknown[];
beforeEach(() => {
  logger = recordingLogger();
  clock = new FakeClock();
  images = [];
  pods = [];
  events = [];
  hookCalls = [];
  begun = 0;
  measured = [];
  // Of 1,000 bytes.
  availableBytes = 100;
  imageFs = { capacityBytes: 1000 };
  removeImage = (id) => void (images = images.filter((image) => image.id !== id));
});

const image = (id: string, more: Partial<RuntimeImage> = {}): RuntimeImage => ({ id, sizeBytes: 40, ...more });
const podWith = (...imageIDs: string[]): RuntimePod => ({
  ...{ uid: 'u', name: 'p', namespace: 'default' },
  containers: imageIDs.map((imageID, i) => ({ id: `c${i}`, name: `c${i}`, state: 'exited', createdAtMs: 0, imageID })),
});
function managerWith(policy: ImageGCPolicy = {}): ImageGCManager {
  return new ImageGCManager({
    runtime: asBounded({
      listImages: async () => images,
      listPods: async () => pods,
      removeImage: async (id: string) => removeImage(id),
      imageFsStats: async () => ({ imageFs: imageFs && { time: '', availableBytes, ...imageFs } }),
    }),
    policy,
    beginImageGC: () => {
      const own = ++begun;
      return async (remaining) => void hookCalls.push([remaining, own]);
    },
    nodeName: 'node-a',
    eventRecorder: { event: (event) => events.push(event) },
    recordMetric: (...of) => void measured.push(of),
    clock,
    logger,
  });
}
const left = (): string[] => images.map(({ id }) => id);

describe('ImageGCManager', () => {
  it('removes nothing below the high threshold', async () => {
    images = [image('a')];
    availableBytes = 160;
    await managerWith({ minimumAgeMs: 0 }).garbageCollect();
    expect(left()).toEqual(['a']);
  });

  it('keeps an image that a container mounts', async () => {
    images = [image('mounted'), image('a', { sizeBytes: 400 })];
    const [container] = podWith('b').containers;
    pods = [{ ...podWith(), containers: [{ ...container!, mountedImageIDs: ['mounted'] }] }];
    await managerWith({ minimumAgeMs: 0 }).garbageCollect();
    expect(left()).toEqual(['mounted']);
  });

  it('removes the least recently used images, until the low threshold is reached', async () => {
    const manager = managerWith({ minimumAgeMs: 0 });
    images = ['a', 'b', 'c', 'd', 'e'].map((id) => image(id));
    availableBytes = 500;
    for (const used of ['a', 'c']) {
      pods = [podWith(used)];
      await manager.garbageCollect();
      clock.advance(minute);
    }
    pods = [];
    // 90 bytes are missing: three images of 40.
    availableBytes = 110;
    await manager.garbageCollect();
    expect(left()).toEqual(['a', 'c']);
  });

  it('keeps images that a container shows by ID or name, pinned ones, and young ones', async () => {
    const manager = managerWith({ minimumAgeMs: 2 * minute });
    images = [
      image('old'),
      image('by-id'),
      image('named', { names: ['app@sha256:1'] }),
      image('pinned', { pinned: true }),
    ];
    pods = [podWith('by-id', 'app@sha256:1')];
    availableBytes = 500;
    await manager.garbageCollect();
    clock.advance(2 * minute);
    images.push(image('young'));
    await manager.deleteUnusedImages();
    expect(left()).toEqual(['by-id', 'named', 'pinned', 'young']);
  });

  it('says on the Node that too little could be freed', async () => {
    images = [image('a')];
    const message =
      "Insufficient free disk space on the node's image filesystem (90% of 1000 B used). Failed to free sufficient space " +
      'by deleting unused images (freed 40 bytes). Investigate disk usage, as it could be used by active images, logs, ' +
      'volumes, or other data.';
    await expect(managerWith({ minimumAgeMs: 0 }).garbageCollect()).rejects.toThrow(message);
    expect(events).toMatchObject([
      { object: { kind: 'Node', name: 'node-a' }, type: 'Warning', reason: 'FreeDiskSpaceFailed', message },
    ]);
  });

  it('tells which images remain, also those in use, after some were removed', async () => {
    const manager = managerWith({ minimumAgeMs: 0 });
    images = ['a', 'b', 'c', 'used'].map((id) => image(id));
    pods = [podWith('used')];
    availableBytes = 160;
    await manager.garbageCollect();
    expect(hookCalls).toEqual([]);
    // 50 bytes are missing: two images of 40.
    availableBytes = 150;
    await manager.garbageCollect().catch(() => {});
    clock.advance(minute);
    await manager.deleteUnusedImages();
    expect(hookCalls).toEqual([
      [new Set(['c', 'used']), 2],
      [new Set(['used']), 3],
    ]);
  });

  it.each<[string, ImageGCPolicy, number, string[]]>([
    ['nothing at 84 %', {}, 160, ['a', 'b', 'c']],
    // 41 bytes are missing: two images of 40.
    ['from 85 % to 80 %', {}, 159, ['c']],
    ['what the thresholds say, not yet', { highThresholdPercent: 60, lowThresholdPercent: 54 }, 410, ['a', 'b', 'c']],
    ['what the thresholds say', { highThresholdPercent: 60, lowThresholdPercent: 54 }, 400, ['c']],
    ['exactly as much as is missing', { highThresholdPercent: 60, lowThresholdPercent: 56 }, 400, ['b', 'c']],
  ])('removes %s', async (_, policy, available, expected) => {
    images = ['a', 'b', 'c'].map((id) => image(id));
    availableBytes = available;
    await managerWith({ minimumAgeMs: 0, ...policy }).garbageCollect();
    expect(left()).toEqual(expected);
  });

  it('removes nothing from a file system on which more is available than its capacity', async () => {
    images = [image('a')];
    availableBytes = 5000;
    await managerWith({ minimumAgeMs: 0, highThresholdPercent: 0, lowThresholdPercent: 0 }).garbageCollect();
    expect(logger.lines[0]).toMatchObject({ fields: { usagePercent: 0, bytesToFree: -4000 } });
  });

  it.each<[string, Partial<FsStats> | undefined]>([
    ['is not reported', undefined],
    ['has no capacity', { capacityBytes: 0 }],
    ['has an unknown capacity', {}],
  ])('says on the Node that the file system %s', async (_, reported) => {
    images = [image('a')];
    imageFs = reported;
    const message = 'invalid capacity 0 on image filesystem';
    await expect(managerWith({ minimumAgeMs: 0 }).garbageCollect()).rejects.toThrow(message);
    expect(events).toMatchObject([{ type: 'Warning', reason: 'InvalidDiskCapacity', message }]);
    expect(left()).toEqual(['a']);
  });

  it.each([
    [1000, '1000 B'],
    [1024, '1.0 KiB'],
    [1536, '1.5 KiB'],
    [2.25 * 2 ** 30, '2.3 GiB'],
    [2 ** 51, '2048.0 TiB'],
  ])('writes %d bytes as %s', async (capacityBytes, size) => {
    imageFs = { capacityBytes, availableBytes: 0 };
    await expect(managerWith().garbageCollect()).rejects.toThrow(`(100% of ${size} used)`);
  });

  it('removes images in the order in which they were found, if none was used', async () => {
    const manager = managerWith({ minimumAgeMs: 0 });
    availableBytes = 500;
    images = [image('b')];
    await manager.garbageCollect();
    clock.advance(minute);
    images = [image('c'), image('b')];
    await manager.garbageCollect();
    clock.advance(minute);
    images = [image('a'), image('c'), image('b')];
    availableBytes = 130;
    await manager.garbageCollect();
    expect(left()).toEqual(['a']);
  });

  it('keeps an image for 2 min after it was first found, also one that was gone in between', async () => {
    const manager = managerWith();
    images = [image('a'), image('b')];
    availableBytes = 500;
    await manager.garbageCollect();
    images = [image('a')];
    clock.advance(minute);
    await manager.garbageCollect();
    images = [image('a'), image('b')];
    clock.advance(minute - 1);
    await manager.deleteUnusedImages();
    expect(left()).toEqual(['a', 'b']);
    clock.advance(1);
    await manager.deleteUnusedImages();
    expect(left()).toEqual(['b']);
    expect(logger.lines).toMatchObject([
      { level: 'info', message: 'Removed an image', fields: { image: 'a', sizeBytes: 40 } },
    ]);
  });

  it('logs a removed image by its name', async () => {
    images = [image('sha256:1', { names: ['app:1', 'app:2'] })];
    await managerWith({ minimumAgeMs: 0 }).deleteUnusedImages();
    expect(logger.lines).toMatchObject([{ fields: { image: 'app:1' } }]);
  });

  it('names all images that cannot be removed, and frees what it can', async () => {
    images = ['a', 'b', 'c'].map((id) => image(id));
    const remove = removeImage;
    removeImage = (id) => {
      if (id !== 'c') throw new Error(`${id} is in use`);
      remove(id);
    };
    await expect(managerWith({ minimumAgeMs: 0 }).deleteUnusedImages()).rejects.toThrow(
      'Failed to remove images: a is in use; b is in use',
    );
    expect(left()).toEqual(['a', 'b']);
  });

  it('goes on with the next image when one cannot be removed, and counts those that were', async () => {
    images = [image('a'), image('b')];
    const remove = removeImage;
    removeImage = (id) => {
      if (id === 'a') throw new Error('in use by another namespace');
      remove(id);
    };
    await expect(managerWith({ minimumAgeMs: 0 }).deleteUnusedImages()).rejects.toThrow('in use by another namespace');
    expect(left()).toEqual(['a']);
    expect(measured).toEqual([['image_garbage_collected_total', 1, 'space']]);
  });

  it('runs every 5 minutes, and records its second failure in a row on the Node', async () => {
    const manager = managerWith();
    manager.start();
    await settle();
    images = [image('a')];
    const reasonsAfterTick = async (): Promise<string[]> => {
      clock.advance(5 * minute);
      await settle();
      return events.map(({ reason }) => reason);
    };
    expect(await reasonsAfterTick()).toEqual(['FreeDiskSpaceFailed']);
    expect(await reasonsAfterTick()).toEqual(['FreeDiskSpaceFailed', 'FreeDiskSpaceFailed', 'ImageGCFailed']);
    await manager.stop();
    expect(clock.pendingTimers).toBe(0);
  });

  it('images that are present at the start are old enough when the first period has passed', async () => {
    images = [image('a', { sizeBytes: 100 })];
    const manager = managerWith({ minimumAgeMs: 5 * minute });
    manager.start();
    await settle();
    clock.advance(5 * minute);
    await settle();
    expect([left(), events]).toEqual([[], []]);
    await manager.stop();
  });

  it('a success between two failures is logged, and the second one is not recorded on the Node', async () => {
    const manager = managerWith({ minimumAgeMs: 0 });
    manager.start();
    await settle();
    for (const available of [100, 500, 100]) {
      availableBytes = available;
      clock.advance(5 * minute);
      await settle();
    }
    expect(events.map(({ reason }) => reason)).toEqual(['FreeDiskSpaceFailed', 'FreeDiskSpaceFailed']);
    const what = 'Garbage collection of images';
    expect(logger.lines.map(({ message }) => message).filter((message) => message.startsWith(what))).toEqual([
      ...[`${what} failed`, `${what} succeeded again`, `${what} failed`],
    ]);
    await manager.stop();
  });

  it('stop() ends the removal of images, which is no failure', async () => {
    images = [image('a'), image('b')];
    const manager = managerWith({ minimumAgeMs: 0 });
    let stopped: Promise<void> | undefined;
    removeImage = () => {
      stopped = manager.stop();
      throw new Error('cancelled');
    };
    manager.start();
    clock.advance(5 * minute);
    await settle();
    await stopped;
    expect([left(), events]).toEqual([['a', 'b'], []]);
    expect(logger.warnings).toEqual([]);
  });
});
