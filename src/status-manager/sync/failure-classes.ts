import type { FailureClass } from '../../kube/client/api-error.ts';

/** Every class except `aborted`: the manager cancelled such a request itself, so it has no consequences. */
export type RetriedFailureClass = Exclude<FailureClass, 'aborted'>;

/** Failure classes that many pods may have for the same reason. */
export type GroupedFailure = Extract<RetriedFailureClass, 'Forbidden' | 'NotFound'>;

/** Back-off of a pod after failures in a row. */
export interface BackOffDelays {
  readonly firstMs: number;
  /** The delay doubles up to this. */
  readonly maxMs: number;
  /** This many tries in a row are made without a wait. */
  readonly freeTries?: number;
  /** Maximum wait of a newer version after the failure; absent: as long as the failed version. */
  readonly newVersionWaitMs?: number;
  /** Limits while the pod manager has the pod. */
  readonly whenShown?: { readonly maxMs: number; readonly newVersionWaitMs: number };
}

/** How a failure is logged. */
export interface FailureLogEntry {
  /** Level of the first failure of this class in a row, and of the following ones; a refusal for another reason is a first one. */
  readonly level: 'debug' | 'info' | 'warn';
  readonly repeatedLevel: 'debug' | 'info' | 'warn';
  /** Messages for a GET or PATCH, and for a DELETE. */
  readonly message: string;
  readonly deletionMessage: string;
}

/** A failed request, as `explain()` describes it. */
export interface FailureFacts {
  /** Upper case. */
  readonly verb: string;
  /** Undefined without a response. */
  readonly statusCode: number | undefined;
  /** Without the status code. */
  readonly message: string;
}

/** Everything that depends on a failure class. */
export interface FailureClassRow extends FailureLogEntry {
  /** Its failures, as in docs/parity.md. */
  readonly description: string;
  readonly backOff: BackOffDelays;
  /**
   * The failure is unrelated to the pod: if more pods fail like this, the API server is down. Any
   * other failure shows that the API server processes requests.
   */
  readonly isOutage: boolean;
  /** A PATCH sent without a GET may succeed after one. */
  readonly isCuredByReading: boolean;
  /** If a second pod fails like this, all requests of the client pause. */
  readonly pausesClient: boolean;
  /** The pod may be gone: not logged at warn if the pod manager does not have it either. */
  readonly mayMeanGone: boolean;
  /** If many pods fail like this, a single log entry counts them; undefined: each is logged. */
  readonly groupedAs: GroupedFailure | undefined;
  /** The outcome reported to listeners. `refused` settles `whenWritten`. */
  readonly outcome: 'retried' | 'refused' | 'forbidden';
  /** The Event for the user of the pod; undefined when there is none. */
  readonly event: FailureEvent | undefined;
  /** What `explain()` says, as a clause. */
  readonly explain: (failure: FailureFacts) => string;
}

/** When a failure is recorded as a Kubernetes Event, and the start of its message. */
export interface FailureEvent {
  /** Since the first failure in a row. */
  readonly afterMs: number;
  /** Message for a GET or PATCH. */
  readonly message: string;
  /** Message for a DELETE; undefined if its failure gets no Event. */
  readonly deletionMessage: string | undefined;
}

/** The pod exists, so the API server will show it soon. */
const whenShown = { maxMs: 30_000, newVersionWaitMs: 1_000 };

const failedToUpdate = 'Failed to update status for pod';
const failedToDelete = 'Failed to delete pod';

const withResponse = ({ statusCode, message }: FailureFacts): string =>
  statusCode === undefined ? `(${message})` : `with ${statusCode} (${message})`;

/** What most classes have in common; their rows say only what differs. */
const usual = {
  level: 'info',
  repeatedLevel: 'info',
  message: failedToUpdate,
  deletionMessage: failedToDelete,
  isOutage: false,
  isCuredByReading: true,
  pausesClient: false,
  mayMeanGone: false,
  groupedAs: undefined,
  outcome: 'retried',
  event: undefined,
} as const satisfies Partial<FailureClassRow>;

/** The API server cannot process any request. */
const serverFails = {
  ...usual,
  backOff: { firstMs: 500, maxMs: 30_000 },
  // An outage is logged once for all pods.
  level: 'debug',
  repeatedLevel: 'debug',
  isOutage: true,
  isCuredByReading: false,
  explain: (failure: FailureFacts) => `${failure.verb} fails ${withResponse(failure)}`,
} as const satisfies Partial<FailureClassRow>;

/**
 * All failure classes; no other code depends on a single class. Every delay doubles up to a limit.
 * docs/parity.md lists the requests per hour, docs/monitoring.md the names.
 * Divergence: the kubelet retries every failed pod at every wake-up and every tick.
 */
export const failureClassTable: Readonly<Record<RetriedFailureClass, FailureClassRow>> = {
  NotFound: {
    ...usual,
    description: '404',
    backOff: { firstMs: 1_000, maxMs: 600_000, whenShown },
    level: 'debug',
    repeatedLevel: 'debug',
    message: 'Pod does not exist on the server',
    mayMeanGone: true,
    groupedAs: 'NotFound',
    explain: ({ verb, statusCode, message }) =>
      statusCode === undefined ? message : `the API server does not show the pod (${statusCode} to ${verb})`,
  },
  Forbidden: {
    ...usual,
    description: '403 to a GET or PATCH',
    backOff: { firstMs: 1_000, maxMs: 60_000, whenShown },
    level: 'warn',
    message: 'The API server forbids reading or updating the status of a pod',
    mayMeanGone: true,
    groupedAs: 'Forbidden',
    outcome: 'forbidden',
    // RBAC may lag behind the start of the node.
    event: {
      afterMs: 30_000,
      message: 'The node is not permitted to read or update the pod status',
      deletionMessage: undefined,
    },
    explain: (failure) => `${failure.verb} is refused ${withResponse(failure)}`,
  },
  Invalid: {
    ...usual,
    description: '422, other 4xx; 403 to a DELETE',
    backOff: { firstMs: 5_000, maxMs: 300_000, newVersionWaitMs: 0 },
    level: 'warn',
    repeatedLevel: 'debug',
    message: 'The API server refuses the status of a pod',
    deletionMessage: 'The API server refuses to delete a pod',
    outcome: 'refused',
    event: {
      afterMs: 0,
      message: 'The API server refuses the pod status',
      deletionMessage: 'The API server refuses to delete the pod',
    },
    explain: (failure) => `${failure.verb} is refused ${withResponse(failure)}`,
  },
  Conflict: {
    ...usual,
    description: '409, 422 on `metadata.uid`, a failed JSON-patch test',
    backOff: { firstMs: 500, maxMs: 30_000, newVersionWaitMs: 0, freeTries: 3 },
    explain: (failure) => `${failure.verb} conflicts with a change by somebody else ${withResponse(failure)}`,
  },
  TooManyRequests: {
    ...usual,
    description: '429, 503',
    backOff: { firstMs: 1_000, maxMs: 30_000 },
    // An outage is logged once for all pods.
    level: 'debug',
    repeatedLevel: 'debug',
    isOutage: true,
    isCuredByReading: false,
    pausesClient: true,
    explain: ({ verb, statusCode }) => `the API server asks for a pause (${statusCode} to ${verb})`,
  },
  ServiceUnavailable: { ...serverFails, description: 'other 5xx, 401, 408, an invalid response' },
  Unreachable: { ...serverFails, description: 'no connection, no response' },
};

/** Log entry for an unexpected error of the client: probably a bug in the user's client or mock. */
export const unknownError: FailureLogEntry = {
  level: 'warn',
  repeatedLevel: 'debug',
  message: 'The client failed with an unexpected non-HTTP error (bug in the client?)',
  deletionMessage: 'The client failed to delete a pod with an unexpected non-HTTP error (bug in the client?)',
};
