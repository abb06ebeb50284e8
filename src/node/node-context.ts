import type { RecordKubeletMetric } from '../observe/kubelet-metrics.ts';
import type { Clock } from '../shared/clock.ts';
import type { Logger } from '../shared/logger.ts';

/** What measures something. */
export interface Measured {
  /** Default: nothing is measured. */
  readonly recordMetric?: RecordKubeletMetric | undefined;
}

/** What all parts of a node share. */
export interface NodeContext {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  /** Never throws. */
  readonly recordMetric: RecordKubeletMetric;
}
