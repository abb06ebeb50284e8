import type { NodeContext } from '../node-context.ts';
import type { KubeTransport } from '../../kube/http/kube-transport.ts';
import { defaultTimeouts, Reflector } from '../../kube/informer/reflector.ts';
import { numberOf, objectOf, objectsOf, stringOf } from '../../kube/objects/json-object.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Raw } from '../../shared/json.ts';
import { boundedCall } from '../../shared/deadline.ts';
import type { Service, ServiceReader } from './api-object-reader.ts';
import { hasClusterIP } from './service-environment.ts';

/** Maximum wait of a container for the first list. */
const syncTimeoutMs = 10_000;

export interface ServiceListerOptions extends Pick<NodeContext, 'clock' | 'logger'> {
  readonly transport: Pick<KubeTransport, 'request' | 'stream'>;
  readonly random: () => number;
}

/**
 * The Services of all namespaces by list and watch, reduced to what environments need. While the API server does not
 * respond, the last known Services stay. Source: kubelet `serviceLister`, `serviceHasSynced`.
 *
 * Divergence: headless Services are received and dropped; the kubelet selects the others by `spec.clusterIP`, which the API
 * server of v1.30 refuses.
 */
export class ServiceLister implements ServiceReader {
  readonly #clock: Clock;
  readonly #reflector: Reflector<Service>;
  /** Those with a cluster IP, by `namespace/name`. */
  readonly #services = new Map<string, Service>();
  #isSynced = false;
  /** Resolves after the first list, and when it is closed. */
  readonly #settled: Promise<void>;
  #settle = (): void => {};

  constructor(options: ServiceListerOptions) {
    this.#clock = options.clock;
    this.#reflector = new Reflector({
      ...options,
      ...defaultTimeouts,
      resource: 'services',
      messages: {
        failed: 'Failed to list and watch Services',
        recovered: 'Watching Services again',
      },
      logFields: {},
      transform: readService,
    });
    this.#settled = new Promise((resolve) => (this.#settle = resolve));
  }

  /** Begins to list and watch; does nothing if called again or after close(). */
  start(): void {
    this.#reflector.start({
      replace: (services) => {
        this.#services.clear();
        for (const service of services) this.#upsert(service);
      },
      upsert: (service) => this.#upsert(service),
      remove: (service) => void this.#services.delete(keyOf(service)),
      synced: () => {
        this.#isSynced = true;
        this.#settle();
      },
      bookmark: () => {},
    });
  }

  async waitForSync(): Promise<void> {
    if (this.#isSynced) return;
    this.start();
    const bounds = { clock: this.#clock, timeoutMs: syncTimeoutMs, signals: [] };
    await boundedCall('the first list of Services', bounds, () => this.#settled);
    if (!this.#isSynced) throw new Error('the runtime helper has been closed');
  }

  listServices(namespace: string): readonly Service[] {
    return [...this.#services.values()].filter(({ metadata }) => metadata.namespace === namespace);
  }

  /** Resolves when no request and no timer is left. The Services stay readable. Idempotent. */
  async close(): Promise<void> {
    this.#settle();
    await this.#reflector.stop();
  }

  #upsert(service: Service): void {
    if (hasClusterIP(service)) this.#services.set(keyOf(service), service);
    else this.#services.delete(keyOf(service));
  }
}

function keyOf({ metadata: { namespace, name } }: Service): string {
  return `${namespace}/${name}`;
}

/** A copy, so that the object of the API server can be freed. */
function readService(object: Raw): Service {
  const metadata = objectOf(object, 'metadata');
  const spec = objectOf(object, 'spec');
  return {
    metadata: { name: stringOf(metadata, 'name'), namespace: stringOf(metadata, 'namespace') },
    spec: {
      clusterIP: stringOf(spec, 'clusterIP'),
      ports: objectsOf(spec, 'ports').map((port) => ({
        name: stringOf(port, 'name'),
        port: numberOf(port, 'port'),
        protocol: stringOf(port, 'protocol') || 'TCP',
      })),
    },
  };
}
