import type { KubeTransport } from '../../kube/http/kube-transport.ts';
import type { Clock } from '../../shared/clock.ts';
import { refuseOption } from '../../shared/errors.ts';
import type { Logger } from '../../shared/logger.ts';
import { integer, positiveInteger } from '../../shared/option-checks.ts';

/** A node, as long as this process owns it. */
export interface OwnedNode {
  readonly nodeName: string;
  /** A fencing token: higher than that of every earlier owner of the node; only its order is meaningful. */
  readonly epoch: number;
  /**
   * Aborted when the ownership ends. Calls and writes for the node must then end within a third of the Lease's duration,
   * because another process may own the node after that.
   */
  readonly signal: AbortSignal;
  /**
   * Call it right before each call and each write for the node, and do not send them if it returns false. It reads the
   * monotonic clock, so it is right even if the timer that aborts `signal` is late, for example after a SIGCONT. A process
   * that is stopped between this check and the request sends the request when it continues: the cloud can refuse it by its
   * epoch, and the API server by the UID and the resourceVersion in it.
   */
  isOwned(): boolean;
}

/**
 * Why the ownership of a node ends:
 * - `handover`: another live process should own the node.
 * - `removed`: `setNodes` no longer has the node.
 * - `stopping`: `stop` was called.
 * - `lost`: the ownership has ended already, because the Leases could not be renewed or somebody changed them.
 */
export type OwnershipEnd = 'handover' | 'removed' | 'stopping' | 'lost';

/** Options of `NodeOwnership`. */
export interface NodeOwnershipOptions {
  /** Sends the requests; it needs get, list, create, update and delete for Leases in `namespace`. */
  readonly transport: Pick<KubeTransport, 'request'>;
  /** Name of this process, for example of its pod. A random suffix makes it unique. */
  readonly identity: string;
  /** Namespace of the Leases. */
  readonly namespace: string;
  /** Prefix of the names of the Leases, for processes with other nodes in the same namespace. Default: `virtual-nodes`. */
  readonly name?: string | undefined;
  /** The nodes, the same for all replicas, with names that `requireLeaseName` accepts. `setNodes` replaces them. */
  readonly nodeNames: readonly string[];
  /**
   * If a process cannot renew its Lease for this long, its nodes are taken over. It stops using them itself after two
   * thirds of it. Between 5 and 600; default: 15.
   */
  readonly leaseDurationSeconds?: number | undefined;
  /** How long `onLost` may take until the node's signal is aborted and the node is released. Default: 30,000. */
  readonly drainTimeoutMs?: number | undefined;
  /**
   * This process owns the node from now on. What it throws is logged. Renew the node's Lease in kube-node-lease
   * immediately: the last owner may have ended up to `leaseDurationSeconds` ago.
   */
  readonly onOwned: (node: OwnedNode) => void;
  /**
   * Stop the work for the node; resolve when no call and no write for it is in flight. Called once for each `onOwned`. The
   * node is then released, and another process takes it within two fifteenths of the Lease's duration. Unless the reason is
   * `lost`, the node is still owned until the promise is settled.
   */
  readonly onLost: (node: OwnedNode, reason: OwnershipEnd) => void | Promise<void>;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly random: () => number;
}

/** The periods that follow from the Lease's duration. Source: the defaults of client-go `leaderelection`: 15, 10 and 2 s. */
export interface LeaseTiming {
  readonly durationSeconds: number;
  readonly durationMs: number;
  /** After this time without a renewal, a process no longer uses its nodes. */
  readonly renewDeadlineMs: number;
  /** From then until others may own them: calls in flight must end, and clocks may differ in speed. */
  readonly marginMs: number;
  /** Between two renewals, and two lists. */
  readonly retryPeriodMs: number;
  readonly requestTimeoutMs: number;
}

export const leaseDurationRange = { min: 5, max: 600 } as const;

export function leaseTiming(durationSeconds: number): LeaseTiming {
  const durationMs = durationSeconds * 1000;
  return {
    durationSeconds,
    durationMs,
    renewDeadlineMs: (durationMs * 2) / 3,
    marginMs: durationMs / 3,
    retryPeriodMs: (durationMs * 2) / 15,
    requestTimeoutMs: durationMs / 5,
  };
}

const dnsLabel = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const dnsSubdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
/** With a longer name, the Lease's name would be too long. */
const maxNameLength = 170;

/** @throws StatusManagerError INVALID_OPTION; `path` names the option */
export function requireNodeOwnershipOptions(options: NodeOwnershipOptions): void {
  const { identity, namespace, name = 'virtual-nodes' } = options;
  const { min, max } = leaseDurationRange;
  requireLeaseName('identity', identity);
  if (!dnsLabel.test(namespace)) refuseOption('namespace', 'a DNS label', namespace);
  if (!dnsLabel.test(name)) refuseOption('name', 'a DNS label', name);
  integer(min, max)('leaseDurationSeconds', options.leaseDurationSeconds);
  positiveInteger('drainTimeoutMs', options.drainTimeoutMs);
}

/** Checks the name of a process or a node, which becomes a part of the name of its Lease. @throws StatusManagerError INVALID_OPTION */
export function requireLeaseName(path: string, name: unknown): void {
  if (typeof name !== 'string' || name.length > maxNameLength || !dnsSubdomain.test(name))
    refuseOption(path, `a DNS subdomain of at most ${maxNameLength} characters`, name);
}
