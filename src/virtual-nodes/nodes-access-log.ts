import type { APIRequests } from '../kube/client/api-requests.ts';
import type { AccessReport } from '../kube/access/access-report.ts';
import { logMissingAccess } from '../kube/access/log-missing-access.ts';
import { logNodesWithoutAccess } from '../kube/access/log-nodes-without-access.ts';
import type { AccessPart } from '../kube/access/permissions.ts';
import type { Logger } from '../shared/logger.ts';

/** The user of a node is wrong for all other nodes, so more warnings would say the same. */
const maxNodesOfNodeUser = 3;

interface NodesAccessLogOptions {
  readonly requests: APIRequests;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** Asked when a node is checked. */
  readonly parts: () => readonly AccessPart[];
}

/**
 * Logs which permissions a process lacks. All its nodes have the same user, so all permissions are checked for the first node,
 * and for the others only those that a role can limit to some nodes: with one request for all that have started by then.
 */
export class NodesAccessLog {
  readonly #options: NodesAccessLogOptions;
  #logged: Promise<AccessReport | undefined> | undefined;
  #unchecked: string[] = [];
  #checkedOfNodeUser = 1;

  constructor(options: NodesAccessLogOptions) {
    this.#options = options;
  }

  /** Checks the node that has started. */
  add(nodeName: string): void {
    if (this.#logged === undefined) {
      this.#logged = this.#log(nodeName);
      return;
    }
    this.#unchecked.push(nodeName);
    this.#logged = this.#logged.then((first) => this.#logUnchecked(first));
  }

  /** Resolves when the checks have ended; after an abort of the signal soon. Never rejects. */
  async whenLogged(): Promise<void> {
    await this.#logged;
  }

  #log(nodeName: string): Promise<AccessReport | undefined> {
    const { requests, parts, logger, signal } = this.#options;
    return logMissingAccess(requests, { nodeName, parts: parts(), logger, signal });
  }

  #logUnchecked(first: AccessReport | undefined): Promise<AccessReport> | AccessReport | undefined {
    const nodeNames = this.#unchecked;
    this.#unchecked = [];
    // The API server asks no authorizer about system:masters.
    if (first?.user === undefined || first.groups.includes('system:masters') || nodeNames.length === 0) return first;
    return this.#logFurther(first, first.user, nodeNames);
  }

  async #logFurther(first: AccessReport, user: string, nodeNames: readonly string[]): Promise<AccessReport> {
    if (!first.isNodeUser) {
      const { requests, parts, logger, signal } = this.#options;
      await logNodesWithoutAccess(requests, { user, nodeNames, parts: parts(), logger, signal });
      return first;
    }
    for (const nodeName of nodeNames) {
      if (this.#checkedOfNodeUser === maxNodesOfNodeUser) break;
      this.#checkedOfNodeUser++;
      await this.#log(nodeName);
    }
    return first;
  }
}
