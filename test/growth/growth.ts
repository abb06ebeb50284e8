/** What reads an input that others wrote. Only `read` is measured. */
export interface Reader<Input = unknown> {
  make(size: number): Input;
  read(input: Input, size: number): unknown;
  /** If fewer can occur than could be measured. */
  readonly largest?: number;
}

/** How the processor time of a reader grows. */
export interface Growth {
  /** 1 for linear, 2 for quadratic time. 0 if it takes no time worth measuring. */
  readonly exponent: number;
  /** How many times as long as to write the input as JSON. 0 if it takes no time worth measuring. */
  readonly effort: number;
  readonly size: number;
  readonly ms: number;
}

/** Of the larger one of the two inputs. A pod of 1.5 MB has at most so many containers. */
const maxSize = 4096;
/** How many times larger the larger one is. */
const factor = 8;
/** n log n has up to 1.2 at these sizes, and the caches of the processor add some; quadratic time has 2. */
export const maxExponent = 1.7;
/** Less could be the clock, and is not worth an attack. */
const minMs = 50;

/**
 * Measures two sizes of which the larger one takes a time worth measuring. Other processes do not count, because it is
 * processor time, and the shortest of several runs counts, so that the garbage collector and the compiler do not.
 */
export async function measureGrowth({ make, read, largest = maxSize }: Reader, runs = 2): Promise<Growth> {
  for (let size = 8; ; size = Math.min(largest / factor, size * 4)) {
    const [small, large] = [make(size), make(size * factor)];
    // The small one first, so that the code is compiled when the large one is read.
    const smallMs = await shortestMs(() => read(small, size), 5);
    const largeMs = await shortestMs(() => read(large, size * factor), runs);
    if (largeMs < minMs && size < largest / factor) continue;
    if (largeMs < minMs) return { exponent: 0, effort: 0, size: size * factor, ms: largeMs };
    const [largeJSON, smallJSON] = [await jsonOf(large), await jsonOf(small)];
    const exponent = Math.log(largeMs / smallMs) / Math.log(largeJSON.length / smallJSON.length);
    // V8 takes quadratic time for objects of up to 1,000 fields, which ends there.
    if (exponent > maxExponent && size < largest / factor && largeMs < 1000) continue;
    return { exponent, effort: largeMs / largeJSON.ms, size: size * factor, ms: largeMs };
  }
}

const measured = new WeakMap<object, { readonly ms: number; readonly length: number }>();

/** Of inputs that several readers share, only once. */
async function jsonOf(input: unknown): Promise<{ readonly ms: number; readonly length: number }> {
  const known = measured.get(Object(input));
  if (known !== undefined) return known;
  const text = JSON.stringify(input, withEntries);
  const { length } = text;
  const plain: unknown = JSON.parse(text);
  const ms = await shortestMs(() => JSON.stringify(plain), 2);
  measured.set(Object(input), { ms, length });
  return { ms, length };
}

/** JSON has nothing of a map or set. */
function withEntries(_name: string, value: unknown): unknown {
  return value instanceof Map || value instanceof Set ? [...value] : value;
}

/** The processor time of the shortest of several runs. */
export async function shortestMs(run: () => unknown, times: number): Promise<number> {
  let shortest = Infinity;
  for (let i = 0; i < times; i += 1) {
    const before = process.cpuUsage();
    await run();
    const { user, system } = process.cpuUsage(before);
    shortest = Math.min(shortest, (user + system) / 1000);
  }
  return shortest;
}
