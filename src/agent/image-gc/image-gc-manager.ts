import sortBy from 'lodash/sortBy.js';
import { FailureLog } from '../../shared/failure-log.ts';
import { reasonOf } from '../../shared/logger.ts';
import { Ticker } from '../../shared/ticker.ts';
import {
  type BoundedRuntime,
  type EventRecorder,
  nodeReference,
  type RuntimeImage,
  type RuntimePod,
  type Measured,
  type NodeContext,
} from '../../node/index.ts';

/** When images are removed. Source: kubelet `ImageGCPolicy`. */
export interface ImageGCPolicy {
  /** Usage of the file system, in percent, at which images are removed; 100: never. Default: 85. */
  readonly highThresholdPercent?: number | undefined;
  /** Usage at which the removal ends. Default: 80. */
  readonly lowThresholdPercent?: number | undefined;
  /** An image is kept for this time after it was first seen. Default: 120,000. kubelet: `imageMinimumGCAge`. */
  readonly minimumAgeMs?: number | undefined;
}

export interface ImageGCManagerOptions extends Pick<NodeContext, 'clock' | 'logger'>, Measured {
  readonly runtime: Required<Pick<BoundedRuntime, 'imageFsStats' | 'listImages' | 'removeImage'>> &
    Pick<BoundedRuntime, 'listPods'>;
  readonly policy: ImageGCPolicy;
  /**
   * Called before images are listed. The function that it returns is called after images were removed, with the IDs of the
   * remaining images. Source: kubelet `postImageGC`.
   */
  readonly beginImageGC: () => (imageIDs: ReadonlySet<string>) => Promise<void>;
  readonly nodeName: string;
  readonly eventRecorder: EventRecorder;
}

/** Source: kubelet `ImageGCPeriod`. */
const periodMs = 300_000;

interface ImageRecord {
  readonly firstDetectedMs: number;
  /** Undefined if no container has used it since it was detected. */
  lastUsedMs?: number;
}

/**
 * Removes images that no container uses, the least recently used first, when their file system is nearly full. Source:
 * kubelet `ImageGCManager`.
 */
export class ImageGCManager {
  readonly #options: ImageGCManagerOptions;
  readonly #records = new Map<string, ImageRecord>();
  readonly #failures: FailureLog;
  readonly #ticker: Ticker;
  readonly #stop = new AbortController();
  #hasFailed = false;

  constructor(options: ImageGCManagerOptions) {
    this.#options = options;
    const { clock, logger } = options;
    this.#failures = new FailureLog({ clock, logger, what: 'Garbage collection of images' });
    this.#ticker = new Ticker(clock, periodMs, () => this.#tick());
  }

  /** Images that are present now are old enough when the first period has passed. */
  start(): void {
    this.#ticker.start();
    this.#detectImages().catch(() => {
      // The first collection detects them.
    });
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#ticker.stop();
    await this.#ticker.whenIdle();
  }

  /** Rejects if too little space could be freed. Source: kubelet `GarbageCollect`. */
  async garbageCollect(): Promise<void> {
    const { runtime, policy, logger } = this.#options;
    const { highThresholdPercent = 85, lowThresholdPercent = 80 } = policy;
    const { signal } = this.#stop;
    const postImageGC = this.#options.beginImageGC();
    const unused = await this.#detectImages();
    const { imageFs } = await runtime.imageFsStats({ signal });
    const { capacityBytes = 0, availableBytes = 0 } = imageFs ?? {};
    if (capacityBytes === 0) {
      const message = 'invalid capacity 0 on image filesystem';
      this.#record('InvalidDiskCapacity', message);
      throw new Error(message);
    }
    const usagePercent = 100 - Math.trunc((Math.min(availableBytes, capacityBytes) * 100) / capacityBytes);
    if (usagePercent < highThresholdPercent) return;
    const bytesToFree = Math.trunc((capacityBytes * (100 - lowThresholdPercent)) / 100) - availableBytes;
    logger.info({ usagePercent, bytesToFree }, 'Image file system usage is over the high threshold; removing images');
    const freedBytes = await this.#freeSpace(unused, bytesToFree);
    await this.#runPostGCHook(postImageGC);
    if (freedBytes >= bytesToFree) return;
    const message =
      `Insufficient free disk space on the node's image filesystem (${usagePercent}% of ${formatSize(capacityBytes)} ` +
      `used). Failed to free sufficient space by deleting unused images (freed ${freedBytes} bytes). Investigate disk ` +
      'usage, as it could be used by active images, logs, volumes, or other data.';
    this.#record('FreeDiskSpaceFailed', message);
    throw new Error(message);
  }

  /** Removes all images that are unused and old enough. */
  async deleteUnusedImages(): Promise<void> {
    const postImageGC = this.#options.beginImageGC();
    await this.#freeSpace(await this.#detectImages(), Number.POSITIVE_INFINITY);
    await this.#runPostGCHook(postImageGC);
  }

  async #tick(): Promise<void> {
    try {
      await this.garbageCollect();
      this.#failures.succeeded();
      this.#hasFailed = false;
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.#failures.failed(error);
      if (this.#hasFailed) this.#record('ImageGCFailed', reasonOf(error));
      this.#hasFailed = true;
    }
  }

  /** Updates the records; returns the images that may be removed, the least recently used first. */
  async #detectImages(): Promise<RuntimeImage[]> {
    const { runtime, clock } = this.#options;
    const { signal } = this.#stop;
    const detectedMs = clock.monotonicMs();
    const images = await runtime.listImages({ signal });
    const inUse = imagesInUse(await runtime.listPods({ signal }));
    const ids = new Set(images.map(({ id }) => id));
    for (const id of this.#records.keys()) if (!ids.has(id)) this.#records.delete(id);
    const unused: RuntimeImage[] = [];
    for (const image of images) {
      const record = this.#records.get(image.id) ?? { firstDetectedMs: detectedMs };
      this.#records.set(image.id, record);
      if ([image.id, ...(image.names ?? [])].some((name) => inUse.has(name))) record.lastUsedMs = clock.monotonicMs();
      else if (image.pinned !== true) unused.push(image);
    }
    const recordOf = ({ id }: RuntimeImage): ImageRecord => this.#records.get(id)!;
    return sortBy(unused, [
      (image) => recordOf(image).lastUsedMs ?? -Infinity,
      (image) => recordOf(image).firstDetectedMs,
    ]);
  }

  /** Removes images until this much is free; returns the sum of their sizes. Source: kubelet `freeSpace`. */
  async #freeSpace(images: readonly RuntimeImage[], bytesToFree: number): Promise<number> {
    const { runtime, policy, clock, logger, recordMetric } = this.#options;
    const { minimumAgeMs = 120_000 } = policy;
    const { signal } = this.#stop;
    let freedBytes = 0;
    const failures: string[] = [];
    for (const { id, names, sizeBytes } of images) {
      const { firstDetectedMs } = this.#records.get(id) ?? { firstDetectedMs: clock.monotonicMs() };
      if (clock.monotonicMs() - firstDetectedMs < minimumAgeMs) continue;
      try {
        await runtime.removeImage(id, { signal });
      } catch (error) {
        signal.throwIfAborted();
        failures.push(reasonOf(error));
        continue;
      }
      logger.info({ image: names?.[0] ?? id, sizeBytes }, 'Removed an image');
      this.#records.delete(id);
      recordMetric?.('image_garbage_collected_total', 1, 'space');
      freedBytes += sizeBytes;
      if (freedBytes >= bytesToFree) break;
    }
    if (failures.length > 0) throw new Error(`Failed to remove images: ${failures.join('; ')}`);
    return freedBytes;
  }

  /** Divergence: all remaining images are passed. The kubelet leaves out those in use, so every pod may use them afterwards. */
  async #runPostGCHook(postImageGC: ReturnType<ImageGCManagerOptions['beginImageGC']>): Promise<void> {
    await postImageGC(new Set(this.#records.keys()));
  }

  #record(reason: string, message: string): void {
    const { eventRecorder, nodeName } = this.#options;
    eventRecorder.event({ object: nodeReference(nodeName, undefined), type: 'Warning', reason, message });
  }
}

/** IDs and names that containers show, including those of containers that have ended. */
function imagesInUse(pods: readonly RuntimePod[]): ReadonlySet<string> {
  const ofContainers = pods.flatMap(({ containers }) => containers);
  return new Set(ofContainers.flatMap(({ imageID = '', mountedImageIDs = [] }) => [imageID, ...mountedImageIDs]));
}

/** Source: kubelet `formatSize`. */
function formatSize(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let size = bytes;
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit++;
  }
  return `${unit === 0 ? size : size.toFixed(1)} ${units[unit]}`;
}
