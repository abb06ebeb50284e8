import type { PodSink } from './pod-config.ts';
import type { PodSourceName } from './pod-update.ts';

/** Somewhere that pods come from. Never throws once it is started: what fails is logged and tried again. */
export interface PodSource {
  readonly name: PodSourceName;
  /** Begins to pass on the pods: all that there are now, after each change. */
  start(sink: PodSink): void;
  /** Resolves when the sink will not be called any more. */
  stop(): Promise<void>;
}

/** Reads a manifest: `parse` of the package `yaml`, or `JSON.parse`. Throws when it cannot. */
export type ParseManifest = (text: string) => unknown;

/** The longest manifest, in bytes. Source: kubelet `maxConfigLength`. */
export const maxManifestBytes = 10 * 2 ** 20;
