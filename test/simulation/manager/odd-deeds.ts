import type { Pod, StatusManager, UpdateResult } from '../../../src/status-manager/index.ts';
import type { Metrics, StatusGauges } from '../../../src/status-manager/metrics.ts';
import type { Random } from '../../chaos/random.ts';

/** What few agents do. Returns the result of what may have made a new version. */
type Deed = (manager: StatusManager, pod: Pod, random: Random) => UpdateResult | void;

const deeds: Readonly<Record<string, Deed>> = {
  'volume health': (manager, { metadata }, random) => {
    const status = random.pick(['Healthy', 'Abnormal']);
    const conditions = random.chance(0.7) ? [{ status, reason: 'Checked' }] : [];
    return manager.setPodVolumeHealth(metadata!.uid!, 'data', conditions);
  },
  'resize waits': (manager, { metadata: { uid = '', generation = 1 } = {} }, random) => {
    manager.setPodResizePendingCondition(uid, random.pick(['Deferred', 'Infeasible']), 'no room', generation);
    manager.determinePodResizeStatus(uid, random.chance(0.1));
    manager.isPodResizeDeferred(uid);
    manager.isPodResizeInfeasible(uid);
  },
  'resize begins': (manager, { metadata: { uid = '', generation = 1 } = {} }, random) => {
    manager.clearPodResizePendingCondition(uid, random.pick(['accepted', 'reverted']));
    manager.setPodResizeInProgressCondition(uid, '', '', generation);
  },
  'resize ends': (manager, { metadata: { uid = '' } = {} }) => {
    manager.clearPodResizeInProgressCondition(uid);
    manager.getPodResizeConditions(uid);
  },
  'wrong arguments': (manager, pod, random) => {
    const { uid = '' } = pod.metadata ?? {};
    const calls = [
      () => manager.setContainerReadiness(uid, 'without-a-scheme', true),
      () => manager.setContainerStartup('unknown-pod', 'containerd://c', true),
      () => manager.setPodVolumeHealth('unknown-pod', 'data', []),
      () => manager.setPodStatus(pod, { phase: 'Running', startTime: 'yesterday' }),
      () => manager.setPodStatus(pod, { phase: 'Running', containerStatuses: [{ name: 7 }] as never }),
    ];
    try {
      return random.pick(calls)();
    } catch {
      return undefined;
    }
  },
};

export const oddDeeds: readonly string[] = Object.keys(deeds);

export function doOddDeed(what: string, manager: StatusManager, pod: Pod, random: Random): UpdateResult | undefined {
  return deeds[what]!(manager, pod, random) ?? undefined;
}

/** How many outcomes there are for each read of the gauges. */
const outcomesPerRead = 8;

/** The caller's metrics: reads the gauges at every few changes of an outcome, as a scrape at any time does. */
export class ReadMetrics {
  readonly metrics: Partial<Metrics>;
  pendingResizes = 0;
  #read: (() => StatusGauges) | undefined;
  #outcomes = 0;

  constructor() {
    this.metrics = {
      incOutcomes: () => {
        if (++this.#outcomes % outcomesPerRead === 0) this.#read?.();
      },
      setPendingResizes: (counts) => {
        this.pendingResizes = counts.reduce((total, { count }) => total + count, 0);
      },
      registerStatusGauges: (read) => {
        this.#read = read;
        return () => void (this.#read = undefined);
      },
    };
  }

  get gauges(): StatusGauges | undefined {
    return this.#read?.();
  }
}
