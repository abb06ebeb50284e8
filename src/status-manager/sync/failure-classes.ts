import type { FailureClass } from '../../kube/client/api-error.ts';

/** How long a pod waits after its failures in a row. */
export interface BackOffDelays {
  readonly firstMs: number;
  /** The delay doubles up to this. */
  readonly maxMs: number;
  /** This many tries in a row go without a wait. */
  readonly freeTries?: number;
  /** A newer version waits at most this long after the failure; absent: as long as the one that failed. */
  readonly newVersionWaitMs?: number;
  /** Bounds while the pod manager shows the pod. */
  readonly whenShown?: { readonly maxMs: number; readonly newVersionWaitMs: number };
}

/** What the sync loop does about one class of failed requests. */
export interface FailureClassRow {
  /** Which failures belong to it, as in docs/parity.md. */
  readonly description: string;
  /** Undefined: the API server refused nothing, so the pod does not wait. */
  readonly backOff: BackOffDelays | undefined;
  /** Level of the log entry of the first failure of this class in a row, and of the following ones. */
  readonly level: 'debug' | 'info' | 'warn';
  readonly repeatedLevel: 'debug' | 'info' | 'warn';
  /** What the log says of a GET or PATCH, and of a DELETE. */
  readonly message: string;
  readonly deletionMessage: string;
}

/** The pod exists, so the API server will show it soon. */
const whenShown = { maxMs: 30_000, newVersionWaitMs: 1_000 };

const failedToUpdate = 'Failed to update status for pod';
const failedToDelete = 'Failed to delete pod';

/**
 * All classes of failed requests. No wait is endless: each delay doubles up to its bound;
 * docs/parity.md has the requests an hour, docs/metrics.md the names.
 * Divergence: the kubelet tries every failed pod again at every wake-up and every tick.
 */
export const failureClassTable: Readonly<Record<FailureClass, FailureClassRow>> = {
  'not-visible': {
    description: '404',
    backOff: { firstMs: 1_000, maxMs: 600_000, whenShown },
    level: 'debug',
    repeatedLevel: 'debug',
    message: 'Pod does not exist on the server',
    deletionMessage: failedToDelete,
  },
  forbidden: {
    description: '403 to a GET or PATCH',
    backOff: { firstMs: 1_000, maxMs: 60_000, whenShown },
    level: 'warn',
    repeatedLevel: 'info',
    message: 'The API server forbids reading or updating the status of a pod',
    deletionMessage: failedToDelete,
  },
  refused: {
    description: '422, other 4xx; 403 to a DELETE',
    backOff: { firstMs: 5_000, maxMs: 300_000, newVersionWaitMs: 0 },
    level: 'warn',
    repeatedLevel: 'warn',
    message: 'The API server refuses the status of a pod',
    deletionMessage: 'The API server refuses to delete a pod',
  },
  stale: {
    description: '409, 422 on `metadata.uid`, a failed JSON-patch test',
    backOff: { firstMs: 500, maxMs: 30_000, newVersionWaitMs: 0, freeTries: 3 },
    level: 'info',
    repeatedLevel: 'info',
    message: failedToUpdate,
    deletionMessage: failedToDelete,
  },
  throttled: {
    description: '429, 503',
    backOff: { firstMs: 1_000, maxMs: 60_000 },
    level: 'info',
    repeatedLevel: 'info',
    message: failedToUpdate,
    deletionMessage: failedToDelete,
  },
  transient: {
    description: 'other 5xx, no response, no connection, 401',
    backOff: { firstMs: 500, maxMs: 30_000 },
    level: 'info',
    repeatedLevel: 'info',
    message: failedToUpdate,
    deletionMessage: failedToDelete,
  },
  aborted: {
    description: 'given up by the manager',
    backOff: undefined,
    level: 'debug',
    repeatedLevel: 'debug',
    message: failedToUpdate,
    deletionMessage: failedToDelete,
  },
};

/** How an error is logged that neither the API server nor the network explains: a fault of the caller's client or mock. */
export const unknownError = {
  level: 'warn',
  repeatedLevel: 'info',
  message: 'The client failed with an error that is not of HTTP or the network',
  deletionMessage: 'The client failed to delete a pod with an error that is not of HTTP or the network',
} as const satisfies Partial<FailureClassRow>;
