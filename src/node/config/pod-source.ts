import type { Clock } from '../../shared/clock.ts';
import { StatusManagerError } from '../../shared/errors.ts';
import type { Logger } from '../../shared/logger.ts';
import type { Pod, ValidPod } from '../../kube/objects/types.ts';

/**
 * Takes the complete list of a source's pods; earlier pods that are not in the list are removed, except those with a UID
 * in `unchanged`, which stay as they are. A pod is copied when it is first passed: a change is a new object.
 */
export type PodSink = (pods: readonly Pod[], unchanged?: ReadonlySet<string>) => void;

/** The node's pods on the API server, for example an `InformerPodManager`, which its owner starts. */
export interface APIPods {
  /** Resolves when the first list has been received. */
  whenSynced(): Promise<void>;
  /** The API server's pods, including mirror pods, without static pods. */
  getAPIPods(): readonly ValidPod[];
  /** Calls the listener for all known pods, and for every later change. Returns a function that unsubscribes. */
  subscribe(
    listener: {
      onPodAdded(pod: ValidPod): void;
      onPodUpdated(pod: ValidPod): void;
      onPodRemoved(pod: ValidPod): void;
    },
    options: { readonly includeMirrorPods: true },
  ): () => void;
}

/** The context that the agent passes to a source. */
export interface PodSourceContext {
  /** The node on which the pods run. */
  readonly nodeName: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The node's pods on the API server; undefined if the agent has no client. */
  readonly apiPods: APIPods | undefined;
  /**
   * The static pods of a manifest, which is a Pod or a PodList: validated, with defaults, a UID that
   * changes with the manifest, and a name that ends with the node's name.
   * @param origin where the manifest was read from, for example its URL; part of the UID
   * @throws Error that names the invalid field and quotes nothing of the manifest
   */
  readonly staticPods: (manifest: unknown, origin: string) => ValidPod[];
}

/**
 * A source of pods: `fileSource()`, `httpSource()`, `apiSource()`, or one of your own. The pods of every source except
 * `api` are static: they have mirror pods on the API server, and run without it. A source logs and retries its own
 * failures; until it succeeds, its last pods stay. Source: kubelet `config.SourceConfig`.
 */
export interface PodSource {
  /** Unique among the sources of an agent, and shown in the annotation `kubernetes.io/config.source`. */
  readonly name: string;
  /**
   * Starts to deliver the pods: the complete list, again after each change. Until every source has
   * delivered its first list, which may be empty, no pod of an earlier agent is cleaned up. The sink
   * throws if a pod lacks its name, namespace or UID, or if its containers are not a list of them.
   */
  start(sink: PodSink, context: PodSourceContext): void;
  /** Resolves when the sink will not be called again. The agent waits for at most 10 s. */
  stop(): Promise<void>;
  /** Manifests that were read and are invalid, for the agent's `inspect()`. */
  refusedManifests?(): readonly RefusedManifest[];
}

/** A manifest whose pods do not run. */
export interface RefusedManifest {
  /** The path of the file, or the URL. */
  readonly source: string;
  /** The problem, with the paths of the invalid fields but not their values. */
  readonly reason: string;
  /** Since when it is refused for this reason. */
  readonly since: string;
}

/** Parses a manifest: `parse` of the package `yaml`, or `JSON.parse`. Throws if the text is invalid. */
export type ParseManifest = (text: string) => unknown;

/** Options of the sources that read manifests. */
export interface ManifestSourceOptions {
  /** Default: `JSON.parse`. For YAML, pass `parse` of the package `yaml`. */
  readonly parse?: ParseManifest | undefined;
}

/** The name of the source whose pods are not static. Source: kubelet `ApiserverSource`. */
export const apiSourceName = 'api';

/** Maximum length of a manifest in bytes. Source: kubelet `maxConfigLength`. */
export const maxManifestBytes = 10 * 2 ** 20;

/** A source that `run` starts. It serves one agent at a time. */
export function podSource(
  name: string,
  run: (sink: PodSink, context: PodSourceContext) => Omit<PodSource, 'name' | 'start'>,
): PodSource {
  let running: Omit<PodSource, 'name' | 'start'> | undefined;
  return {
    name,
    start(sink, context) {
      if (running !== undefined) throw new StatusManagerError('INVALID_STATE', 'Another agent uses this source');
      running = run(sink, context);
    },
    async stop() {
      await running?.stop();
      running = undefined;
    },
    refusedManifests: () => running?.refusedManifests?.() ?? [],
  };
}
