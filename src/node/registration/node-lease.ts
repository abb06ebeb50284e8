import type { NodeContext } from '../node-context.ts';
import { sleep } from '../../shared/clock.ts';
import { microTime, MonotonicTimes } from '../../shared/time.ts';
import { ExponentialBackOff } from '../../shared/exponential-back-off.ts';
import { type Failure, FailureLog } from '../../shared/failure-log.ts';
import { isResponse, type NodeClient } from './node-client.ts';
import type { Lease } from './node-types.ts';
import { OtherAgents } from './other-agents.ts';

export interface NodeLeaseOptions extends Pick<NodeContext, 'clock' | 'logger'> {
  readonly client: NodeClient;
  readonly nodeName: string;
  readonly leaseDurationSeconds: number;
  readonly signal: AbortSignal;
  /** Unique among agents. */
  readonly identity: string;
  /** Called at each renewal as long as an older agent renews the same Lease. */
  readonly onOlderAgent: () => void;
}

const maxUpdateRetries = 5;
const ensureBackOff = { firstMs: 200, maxMs: 7000 };

/**
 * The Lease that tells the control plane that the node is alive. An update is based on the last
 * response and needs no GET. Source: component-helpers `lease.Controller`, kubelet `SetNodeOwnerFunc`.
 */
export class NodeLease {
  readonly #options: NodeLeaseOptions;
  readonly #failures: FailureLog;
  readonly #otherAgents: OtherAgents;
  #latest: Lease | undefined;
  #renewedAtMs: number | undefined;

  constructor(options: NodeLeaseOptions) {
    this.#options = options;
    const { logger, clock, nodeName, identity } = options;
    this.#otherAgents = new OtherAgents(identity);
    this.#failures = new FailureLog({ logger, clock, what: 'Renewing the node Lease', fields: { node: nodeName } });
  }

  /** Why the Lease cannot be renewed; undefined if the last attempt succeeded. */
  get failure(): Failure | undefined {
    return this.#failures.failure;
  }

  /** When the Lease was last renewed; undefined before the first renewal. */
  get renewedAt(): string | undefined {
    return this.#renewedAtMs === undefined
      ? undefined
      : new MonotonicTimes(this.#options.clock).format(this.#renewedAtMs);
  }

  /** Renews the Lease, or creates it; never rejects. Source: `sync`. */
  async renew(): Promise<void> {
    if (this.#latest !== undefined && (await this.#retryUpdate(this.#latest))) return;
    const ensured = await this.#backoffEnsure();
    if (ensured === undefined) return;
    this.#latest = ensured.lease;
    if (!ensured.isCreated) await this.#retryUpdate(ensured.lease);
  }

  /** Source: `retryUpdateLease`. */
  async #retryUpdate(base: Lease): Promise<boolean> {
    const { client, signal } = this.#options;
    let current = base;
    for (let tries = 0; tries < maxUpdateRetries && !signal.aborted; tries++) {
      try {
        this.#latest = await client.updateLease(
          await this.#withOwner(this.#renewed(current)).catch(() => this.#renewed(current)),
        );
        this.#succeeded(tries === 0);
        return true;
      } catch (error) {
        this.#failed(error);
        if (isResponse(error, 409)) current = (await this.#backoffEnsure())?.lease ?? current;
        else if (tries > 0) await client.closeIdle();
      }
    }
    return false;
  }

  /** Source: `backoffEnsureLease`. */
  async #backoffEnsure(): Promise<{ lease: Lease; isCreated: boolean } | undefined> {
    const { client, clock, signal } = this.#options;
    const backOff = new ExponentialBackOff(ensureBackOff);
    while (!signal.aborted) {
      try {
        const lease = await client.getLease();
        if (this.#otherAgents.isOlderAlive(lease)) this.#options.onOlderAgent();
        return { lease, isCreated: false };
      } catch (error) {
        if (!isResponse(error, 404)) this.#failed(error);
        else {
          try {
            const lease = await client.createLease(await this.#withOwner(this.#renewed()));
            this.#succeeded(true);
            return { lease, isCreated: true };
          } catch (error) {
            this.#failed(error);
          }
        }
      }
      await sleep(clock, backOff.next(), signal);
    }
    return undefined;
  }

  /** Source: `newLease`. */
  #renewed(base?: Lease): Lease {
    const { nodeName, leaseDurationSeconds, clock } = this.#options;
    const renewTime = microTime(clock.now());
    // The Lease may have been created with another duration.
    const lease: Lease = base ?? {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: nodeName, namespace: 'kube-node-lease' },
      spec: { holderIdentity: nodeName },
    };
    return this.#otherAgents.sign({ ...lease, spec: { ...lease.spec, leaseDurationSeconds, renewTime } });
  }

  /** Makes the Node the owner, so that the Lease is deleted with it. Rejects if the Node cannot be read. */
  async #withOwner(lease: Lease): Promise<Lease> {
    if ((lease.metadata.ownerReferences?.length ?? 0) > 0) return lease;
    const { uid } = (await this.#options.client.getNode()).metadata;
    const owner = { apiVersion: 'v1', kind: 'Node', name: this.#options.nodeName, uid };
    return { ...lease, metadata: { ...lease.metadata, ownerReferences: [owner] } };
  }

  #succeeded(alone: boolean): void {
    this.#otherAgents.renewed(alone);
    this.#renewedAtMs = this.#options.clock.monotonicMs();
    this.#failures.succeeded();
  }

  #failed(error: unknown): void {
    if (!this.#options.signal.aborted) this.#failures.failed(error);
  }
}
