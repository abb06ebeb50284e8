import { beforeEach, describe, expect, it } from 'vitest';
import { FakeClock, recordingLogger, settle } from 'kubelet-status-manager/testing';
import type { RuntimePod } from 'kubelet-status-manager/agent';
import type { ObjectEvent, PodEvent } from '../../src/agent/events/event-recorder.ts';
import { ImageGCManager, type ImageGCPolicy } from '../../src/agent/image-gc/image-gc-manager.ts';
import type { RuntimeImage } from '../../src/agent/runtime/runtime-storage.ts';

const minute = 60_000;

let clock: FakeClock;
let images: RuntimeImage[];
let pods: RuntimePod[];
let availableBytes: number;
let events: (ObjectEvent | PodEvent)[];
let removeImage: (id: string) => void;
/** Images that remained, and when they were listed. */
let hookCalls: [ReadonlySet<string>, number][];
beforeEach(() => {
  clock = new FakeClock();
  images = [];
  pods = [];
  events = [];
  hookCalls = [];
  // Of 1,000 bytes.
  availableBytes = 100;
  removeImage = (id) => void (images = images.filter((image) => image.id !== id));
});

const image = (id: string, more: Partial<RuntimeImage> = {}): RuntimeImage => ({ id, sizeBytes: 40, ...more });
const podWith = (...imageIDs: string[]): RuntimePod => ({
  ...{ uid: 'u', name: 'p', namespace: 'default' },
  containers: imageIDs.map((imageID, i) => ({ id: `c${i}`, name: `c${i}`, state: 'exited', createdAtMs: 0, imageID })),
});
function managerWith(policy: ImageGCPolicy = {}): ImageGCManager {
  return new ImageGCManager({
    runtime: {
      listImages: async () => images,
      listPods: async () => pods,
      removeImage: async (id) => removeImage(id),
      imageFsStats: async () => ({ imageFs: { time: '', capacityBytes: 1000, availableBytes } }),
    },
    policy,
    postImageGC: async (...call) => void hookCalls.push(call),
    nodeName: 'node-a',
    eventRecorder: { event: (event) => events.push(event) },
    clock,
    logger: recordingLogger(),
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
      [new Set(['c', 'used']), clock.now() - minute],
      [new Set(['used']), clock.now()],
    ]);
  });

  it('goes on with the next image when one cannot be removed', async () => {
    images = [image('a'), image('b')];
    const remove = removeImage;
    removeImage = (id) => {
      if (id === 'a') throw new Error('in use by another namespace');
      remove(id);
    };
    await expect(managerWith({ minimumAgeMs: 0 }).deleteUnusedImages()).rejects.toThrow('in use by another namespace');
    expect(left()).toEqual(['a']);
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
});
