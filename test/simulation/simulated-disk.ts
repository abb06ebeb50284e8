import type { Disk, DiskFile } from '../../src/shared/disk.ts';
import type { DirectoryLock } from '../../src/shared/directory-lock.ts';
import type { Random } from '../chaos/random.ts';
import type { SimulatedProcess } from './simulated-process.ts';
import type { World } from './world.ts';

type Write = { readonly offset: number; readonly bytes: Buffer } | { readonly truncate: number };

/** The bytes of a file. */
class Content {
  size = 0;
  #buffer = Buffer.alloc(0);
  /** Until the next write. */
  #read: Buffer | undefined;

  apply(write: Write): void {
    this.#read = undefined;
    if ('truncate' in write) {
      this.size = write.truncate;
      return;
    }
    const end = write.offset + write.bytes.length;
    if (end > this.#buffer.length) {
      const larger = Buffer.alloc(2 * end);
      this.#buffer.copy(larger, 0, 0, this.size);
      this.#buffer = larger;
    }
    write.bytes.copy(this.#buffer, write.offset);
    this.size = Math.max(this.size, end);
  }

  /** The same buffer until something is written, so that it can be told from another content. */
  read(): Buffer {
    return (this.#read ??= Buffer.from(this.#buffer.subarray(0, this.size)));
  }
}

/** A file apart from its name. */
class Inode {
  /** As processes see it. */
  visible = new Content();
  readonly #durable = new Content();
  /** Since the last fsync, in order. */
  readonly #pending: Write[] = [];
  /** Writes that have become durable or were lost. */
  #settled = 0;
  links = 1;

  /** What a power loss leaves for certain. */
  get durable(): Buffer {
    return this.#durable.read();
  }

  /** What a power loss may leave. @param survives whether a write that is not durable does */
  possible(survives: () => boolean): Buffer {
    if (this.#pending.length === 0) return this.durable;
    const content = new Content();
    content.apply({ offset: 0, bytes: this.#durable.read() });
    for (const write of this.#pending) if (survives()) content.apply(write);
    return content.read();
  }

  /** How many writes there have been. */
  get writes(): number {
    return this.#settled + this.#pending.length;
  }

  write(write: Write): void {
    this.visible.apply(write);
    this.#pending.push(write);
  }

  /** @param writes the number of writes that become durable */
  sync(writes = this.writes): void {
    for (const write of this.#pending.splice(0, Math.max(0, writes - this.#settled))) {
      this.#durable.apply(write);
      this.#settled++;
    }
  }

  /** What of each write that is not durable reaches the disk. */
  losePower(survives: (write: Write) => Write | undefined): void {
    for (const write of this.#pending.splice(0)) {
      const part = survives(write);
      if (part !== undefined) this.#durable.apply(part);
      this.#settled++;
    }
    this.visible = new Content();
    this.visible.apply({ offset: 0, bytes: this.#durable.read() });
  }
}

/** What happens to a write when the machine loses power before an fsync. */
const lostWrite = 0.5;
const tornWrite = 0.1;

/**
 * The disk of one machine: survives its processes, and of what was not synced the loss of power only by chance. Names are
 * durable once their directory was synced.
 */
export class SimulatedDisk {
  isFull = false;
  /** Files can neither be read nor synced. */
  isBroken = false;
  /** Called when the power fails at a write; until then and `powerOn`, nothing has an effect. */
  onPowerLoss = (): void => {};
  /** Called after each write. */
  onWrite = (): void => {};
  readonly #world: World;
  readonly #random: Random;
  #files = new Map<string, Inode>();
  #durableNames = new Map<string, Inode>();
  readonly #locks = new Set<string>();
  #isOff = false;
  #isSyncFailing = false;
  /** After this many more operations, the power fails. */
  #operationsLeft = Number.POSITIVE_INFINITY;

  constructor(world: World, name: string) {
    this.#world = world;
    this.#random = world.random.fork(`disk ${name}`);
  }

  /** The last sync has failed. */
  get isSyncFailing(): boolean {
    return this.#isSyncFailing;
  }

  /** The disk as one process uses it. */
  for(process: SimulatedProcess): Disk {
    return {
      open: (path, _mode, isNew) => this.#open(process, path, isNew),
      exists: (path) => this.#files.has(path),
      remove: (path) => {
        if (!this.#acts()) return;
        const file = this.#files.get(path);
        if (file !== undefined) file.links--;
        this.#files.delete(path);
      },
      rename: (from, to) => {
        if (!this.#acts()) return;
        const file = this.#existing(from);
        const old = this.#files.get(to);
        if (old !== undefined) old.links--;
        this.#files.delete(from);
        this.#files.set(to, file);
      },
      link: (from, to) => {
        if (!this.#acts()) return;
        const file = this.#existing(from);
        file.links++;
        this.#files.set(to, file);
      },
      copy: (from, to) => {
        if (!this.#acts()) return;
        const copy = new Inode();
        copy.write({ offset: 0, bytes: this.#existing(from).visible.read() });
        this.#files.set(to, copy);
      },
      syncDirectory: () => {
        if (this.#acts()) this.#durableNames = new Map(this.#files);
      },
      read: (path) =>
        new Promise((resolve, reject) => {
          process.receive(this.#random.next() * 3, () => {
            const file = this.#files.get(path);
            if (this.isBroken) reject(errno('EIO', path));
            else if (file === undefined) reject(errno('ENOENT', path));
            else resolve(Buffer.from(file.visible.read()));
          });
        }),
      list: (path) =>
        new Promise((resolve) => {
          const prefix = `${path}/`;
          process.receive(this.#random.next() * 3, () =>
            resolve(
              [...this.#files.keys()]
                .filter((file) => file.startsWith(prefix) && !file.slice(prefix.length).includes('/'))
                .map((file) => file.slice(prefix.length)),
            ),
          );
        }),
      makeDirectories: async () => undefined,
    };
  }

  /** The lock on a directory, which ends with its process. */
  lockDirectory(process: SimulatedProcess): (dir: string) => Promise<DirectoryLock> {
    return async (dir) => {
      if (this.isBroken) throw errno('EIO', dir);
      const lock = `${process.name} ${dir}`;
      this.#locks.add(lock);
      return { release: async () => void this.#locks.delete(lock) };
    };
  }

  /** What a file has: as processes see it, or what a power loss would leave for certain. Undefined if there is no file. */
  contentOf(path: string, after: 'crash' | 'power loss'): Buffer | undefined {
    if (after === 'crash') return this.#files.get(path)?.visible.read();
    return this.#durableNames.get(path)?.durable;
  }

  /** What a power loss may leave of a file; undefined if that is none. */
  possibleContentOf(path: string, random: Random): Buffer | undefined {
    return this.#durableNames.get(path)?.possible(() => random.chance(1 - lostWrite));
  }

  filesBelow(folder: string): string[] {
    return [...this.#files.keys()].filter((path) => path.startsWith(`${folder}/`));
  }

  /** One byte of a file becomes another. */
  damage(path: string, offset: number, byte: number): void {
    this.#world.note('disk', 'damage', path, offset);
    const file = this.#files.get(path)!;
    file.write({ offset, bytes: Buffer.of(byte) });
    file.sync();
  }

  /** Somebody has written a file, and synced it. */
  put(path: string, bytes: Buffer): void {
    const file = new Inode();
    file.write({ offset: 0, bytes });
    file.sync();
    this.#files.set(path, file);
    this.#durableNames.set(path, file);
  }

  /** Somebody deletes a file, which stays open. */
  deleteFile(path: string): void {
    this.#world.note('disk', 'deleted', path);
    this.#files.delete(path);
    this.#durableNames.delete(path);
  }

  /** The machine loses power, and has it again at once. */
  losePower(): void {
    this.#files = new Map(this.#durableNames);
    for (const [name, file] of this.#files) {
      this.#world.note('disk', 'power loss', name, file.visible.size);
      file.losePower((write) => {
        if (this.#random.chance(lostWrite)) return undefined;
        return this.#random.chance(tornWrite) ? this.#torn(write) : write;
      });
      this.#world.note('disk', 'power back', name, file.visible.size);
    }
  }

  /** The power fails after this many more operations, and stays off until `powerOn`. */
  losePowerAfter(operations: number): void {
    this.#operationsLeft = operations;
  }

  powerOn(): void {
    this.#isOff = false;
    this.#operationsLeft = Number.POSITIVE_INFINITY;
  }

  #open(process: SimulatedProcess, path: string, isNew: boolean): DiskFile {
    let file = this.#files.get(path);
    if (file === undefined) {
      if (this.isFull) throw errno('ENOSPC', path);
      file = new Inode();
      this.#files.set(path, file);
    } else if (isNew) throw errno('EEXIST', path);
    const inode = file;
    return {
      get size() {
        return inode.visible.size;
      },
      get links() {
        return inode.links;
      },
      mode: 0o100600,
      isAt: (name) => this.#isOff || this.#files.get(name) === inode,
      truncate: (bytes) => this.#write(path, inode, { truncate: bytes }),
      write: (offset, bytes) => {
        if (this.isFull && offset + bytes.length > inode.visible.size) throw errno('ENOSPC', path);
        this.#write(path, inode, { offset, bytes: Buffer.from(bytes) });
      },
      sync: () => {
        this.#isSyncFailing = this.isBroken;
        if (this.isBroken) throw errno('EIO', path);
        if (this.#acts()) inode.sync();
      },
      syncLater: () => {
        const { writes } = inode;
        return new Promise((resolve, reject) => {
          const slowMs = this.#random.chance(0.05) ? this.#random.integer(100, 5_000) : this.#random.integer(1, 40);
          process.receive(slowMs, () => {
            this.#isSyncFailing = this.isBroken;
            if (this.isBroken) return reject(errno('EIO', path));
            if (!this.#acts()) return;
            inode.sync(writes);
            resolve();
          });
        });
      },
      close: async () => {},
    };
  }

  #write(path: string, inode: Inode, write: Write): void {
    if (!this.#acts()) return;
    inode.write(write);
    this.onWrite();
    this.#world.note('disk', 'write', path, 'truncate' in write ? write : [write.offset, write.bytes.length]);
  }

  /** Whether an operation still has an effect. */
  #acts(): boolean {
    if (this.#isOff) return false;
    if (--this.#operationsLeft > 0) return true;
    this.#isOff = true;
    this.losePower();
    this.onPowerLoss();
    return false;
  }

  #torn(write: Write): Write {
    if ('truncate' in write) return write;
    return { offset: write.offset, bytes: write.bytes.subarray(0, this.#random.integer(0, write.bytes.length)) };
  }

  #existing(path: string): Inode {
    const file = this.#files.get(path);
    if (file === undefined) throw errno('ENOENT', path);
    return file;
  }
}

function errno(code: string, path: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: simulated, '${path}'`), { code, path });
}
