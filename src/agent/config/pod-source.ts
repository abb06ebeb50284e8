import type { PodSink } from './pod-config.ts';
import type { PodSourceName } from './pod-update.ts';

/** A source of pods. Never throws after it was started: failures are logged and retried. */
export interface PodSource {
  readonly name: PodSourceName;
  /** Starts to deliver the pods: the complete list, again after each change. */
  start(sink: PodSink): void;
  /** Resolves when the sink will not be called again. */
  stop(): Promise<void>;
}

/** Parses a manifest: `parse` of the package `yaml`, or `JSON.parse`. Throws if the text is invalid. */
export type ParseManifest = (text: string) => unknown;

/** Maximum length of a manifest in bytes. Source: kubelet `maxConfigLength`. */
export const maxManifestBytes = 10 * 2 ** 20;
