/** Counts specs in the output of a Ginkgo that runs several processes: a bullet for each spec that has ended. */
export class Progress {
  #passed = 0;
  #failed = 0;
  /** The beginning of a line; a line of bullets grows for minutes. */
  #rest = '';
  #isNextLineName = false;

  /** @returns the full names of the specs whose failure is in this part of the output */
  read(text: string): string[] {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop()!;
    const failures: string[] = [];
    for (const line of lines) {
      if (this.#isNextLineName) failures.push(nameIn(line));
      this.#isNextLineName = /^• \[(FAILED|PANICKED|TIMEDOUT|INTERRUPTED)/.test(line);
      if (this.#isNextLineName) this.#failed += 1;
      else this.#passed += countBullets(line);
    }
    return failures;
  }

  get passed(): number {
    return this.#passed + countBullets(this.#rest);
  }

  get failed(): number {
    return this.#failed;
  }
}

/** In a line of `•` (passed), `S` (skipped) and `P` (pending). The details of a failure may contain bullets, too. */
function countBullets(line: string): number {
  return /^[•SP]*$/.test(line) ? line.split('•').length - 1 : 0;
}

/** `[sig-node] Pods [It] should … [sig-node, Conformance]`: without the kind of the leaf and without the labels. */
function nameIn(line: string): string {
  return line.replace(' [It] ', ' ').replace(/ \[[^[\]]*, [^[\]]*\]$/, '');
}
