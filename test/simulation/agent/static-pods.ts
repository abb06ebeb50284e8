import type { PodSource } from '../../../src/agent/index.ts';
import { fileSourceOn } from '../../../src/node/config/file-source.ts';
import type { Random } from '../../chaos/random.ts';
import type { Json } from '../../support/kube-http.ts';
import type { SimulatedFiles } from '../simulated-files.ts';
import type { SimulatedProcess } from '../simulated-process.ts';
import type { World } from '../world.ts';

const manifestsDirectory = '/etc/kubernetes/manifests';

/** The manifests of a node, which its owner changes: at once, or so that half of a file is seen first. */
export class StaticPods {
  readonly #world: World;
  readonly #random: Random;
  readonly #makePod: (name: string, random: Random) => Json;
  readonly #manifests = new Map<string, Json>();
  readonly #files: SimulatedFiles;
  #isStopped = false;

  constructor(world: World, files: SimulatedFiles, makePod: (name: string, random: Random) => Json) {
    this.#world = world;
    this.#files = files;
    files.makeFolder(manifestsDirectory);
    this.#random = world.random.fork('static pods');
    this.#makePod = makePod;
  }

  /** The names of the pods that should run. */
  get names(): readonly string[] {
    return [...this.#manifests.keys()];
  }

  start(names: readonly string[]): void {
    for (const name of names) void this.#live(name, this.#random.fork(name));
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** All manifests are removed. */
  clear(): void {
    for (const name of this.#manifests.keys()) this.#files.remove(pathOf(name));
    this.#manifests.clear();
  }

  source(process: SimulatedProcess): PodSource {
    return fileSourceOn(this.#files.for(process), { path: manifestsDirectory });
  }

  async #live(name: string, random: Random): Promise<void> {
    for (let round = 1; ; round++) {
      const ofRound = random.fork(String(round));
      await this.#world.sleep(ofRound.integer(0, 8_000) * this.#world.size.pace);
      const isRemoval = this.#manifests.has(name) && ofRound.chance(0.4);
      if (this.#isStopped) return;
      if (!this.#world.happens(`${name}: ${isRemoval ? 'remove' : 'write'} the manifest`)) continue;
      this.#world.count(isRemoval ? 'manifest removed' : 'manifest written');
      this.#world.note('manifests', isRemoval ? 'remove' : 'write', name);
      if (isRemoval) {
        this.#manifests.delete(name);
        this.#files.remove(pathOf(name));
        continue;
      }
      const manifest = this.#makePod(name, ofRound);
      this.#manifests.set(name, manifest);
      const text = JSON.stringify(manifest);
      if (ofRound.chance(0.5)) {
        // As editors do.
        const temporary = `${manifestsDirectory}/.${name}`;
        this.#files.write(temporary, text);
        this.#files.rename(temporary, pathOf(name));
        continue;
      }
      this.#files.write(pathOf(name), text.slice(0, ofRound.integer(0, text.length)));
      await this.#world.sleep(ofRound.integer(1, 3_000));
      // All manifests may have been removed.
      if (this.#manifests.get(name) === manifest) this.#files.write(pathOf(name), text);
    }
  }
}

function pathOf(name: string): string {
  return `${manifestsDirectory}/${name}.json`;
}
