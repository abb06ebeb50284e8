import { type BigIntStats, constants, type Dirent } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import type { HostFiles } from '../../src/node/host-paths/host-files.ts';
import type { Random } from '../chaos/random.ts';
import type { SimulatedProcess } from './simulated-process.ts';
import type { World } from './world.ts';

const pathOnly = 0x20_00_00;
const blockBytes = 4_096;
const rootDevice = 1n;

/** A file, a folder or a link, apart from its name. */
export interface Inode {
  readonly ino: bigint;
  readonly device: bigint;
  readonly kind: 'file' | 'folder' | 'link';
  /** Of the process that made it. */
  readonly madeBy: string;
  mode: number;
  links: number;
  changedMs: number;
  content: Buffer;
  /** Of a file that grows on its own, in place of its content. */
  size?: (() => number) | undefined;
  readonly target: string;
  /** Of a folder, by name. */
  readonly entries: Map<string, Inode>;
  /** The folder that a folder is in, with its name there. */
  parent: Inode | undefined;
  name: string;
  /** What is mounted on it, the last one on top. */
  readonly mounted: { readonly root: Inode; readonly type: string }[];
}

/** Where a path leads: an entry of a folder, which need not exist. */
interface Place {
  readonly folder: Inode;
  readonly name: string;
  readonly inode: Inode | undefined;
}

/** What happened to an entry of a folder. */
export interface FileChange {
  readonly process: string;
  readonly what: 'added' | 'removed';
  readonly folder: Inode;
  readonly name: string;
  readonly inode: Inode;
  /** When the process began the call. */
  readonly begunMs: number;
}

interface Watch {
  readonly process: SimulatedProcess;
  readonly folder: Inode;
  readonly onChange: (event: string, name: string | null) => void;
}

/** Probabilities of what happens to a call. */
const badDisk = { slow: 0.001, failed: 0.002, hangs: 0.0002 };
const hangMs = 200_000;
/** The share of the calls that take time at all. */
const latencyShare = 0.1;

/**
 * The files and mounts of one machine, as its kernel has them: the library's port `HostFiles`. They outlive the processes.
 * A simulated process has its own open files, which end with it.
 */
export class SimulatedFiles {
  /** Called after each change of an entry. */
  onChange: ((change: FileChange) => void) | undefined;
  isFull = false;
  /** A call has failed, so that something may be left. */
  hasFailed = false;
  readonly root: Inode;
  readonly #world: World;
  readonly #now: () => number;
  readonly #random: Random;
  readonly #open = new Map<string, Map<number, Inode>>();
  /** The calls of each process that have not been answered. */
  readonly #calls = new Map<string, number>();
  readonly #watches = new Set<Watch>();
  /** Where something is mounted, in order. */
  readonly #mounts: { readonly at: Inode; readonly root: Inode; readonly type: string }[] = [];
  #share = 0;
  #lastInode = 1n;
  #lastDevice = rootDevice;
  #lastFile = 2;
  #hangsUntilMs = 0;
  /** When the call began that has its effect now. */
  #begunMs = 0;

  /** @param now the machine's wall clock */
  constructor(world: World, now: () => number) {
    this.#world = world;
    this.#now = now;
    this.#random = world.random.fork('files');
    this.root = this.#make('folder', { device: rootDevice, madeBy: 'machine', mode: 0o755 });
    this.root.parent = this.root;
  }

  /** Calls fail, take long and hang from now on. */
  disturb(share: number): void {
    this.#share = share;
  }

  heal(): void {
    this.#share = 0;
    this.isFull = false;
  }

  /** The paths of the open files of a process. */
  openFiles(process: SimulatedProcess): string[] {
    return [...(this.#open.get(process.name)?.values() ?? [])].map((inode) => this.pathOf(inode));
  }

  /** Whether a call of a process is in progress, or was when it was killed. */
  isBusy(process: SimulatedProcess): boolean {
    return (this.#calls.get(process.name) ?? 0) > 0;
  }

  /** How long it takes until no call hangs any more. */
  get hangsForMs(): number {
    return Math.max(0, this.#hangsUntilMs - this.#world.nowMs);
  }

  get watches(): number {
    return this.#watches.size;
  }

  killed(process: SimulatedProcess): void {
    this.#open.delete(process.name);
    for (const watch of this.#watches) if (watch.process === process) this.#watches.delete(watch);
  }

  /** What is at a path; follows links. */
  find(path: string): Inode | undefined {
    try {
      return this.#place(undefined, path, true).inode;
    } catch {
      return undefined;
    }
  }

  pathOf(inode: Inode): string {
    const mount = this.#mounts.find(({ root }) => root === inode);
    if (mount !== undefined) return this.pathOf(mount.at);
    if (inode.parent === undefined) return `(removed) ${inode.name}`;
    return inode === this.root ? '' : `${this.pathOf(inode.parent)}/${inode.name}`;
  }

  /** Writes a file as somebody on the machine; its folder must exist. */
  write(path: string, text: string): void {
    const { folder, name, inode } = this.#place(undefined, path, true);
    if (inode === undefined) this.#add('machine', folder, name, 'file', { content: Buffer.from(text) });
    else this.#setContent(inode, Buffer.from(text));
    this.#tell(folder, name);
  }

  /** Makes a folder and those above it, as somebody on the machine. */
  makeFolder(path: string): void {
    if (this.find(path) !== undefined) return;
    this.makeFolder(dirname(path));
    const { folder, name } = this.#place(undefined, path, true);
    this.#add('machine', folder, name, 'folder', { mode: 0o755 });
  }

  /** Removes an entry with all that is in it, as somebody on the machine. */
  remove(path: string): void {
    const { folder, name, inode } = this.#place(undefined, path, false);
    if (inode === undefined) return;
    this.#remove('machine', folder, name);
    this.#tell(folder, name);
  }

  rename(from: string, to: string): void {
    const [source, target] = [this.#place(undefined, from, false), this.#place(undefined, to, false)];
    this.#rename('machine', source, target);
  }

  /** The files as one process uses them. */
  for(process: SimulatedProcess): HostFiles {
    const { name } = process;
    const fds = this.#open.get(name) ?? new Map<number, Inode>();
    this.#open.set(name, fds);
    const call = <T>(what: string, effect: () => T): Promise<T> => this.#call(process, what, effect);
    const place = (path: string | Buffer, follow: boolean): Place => this.#place(fds, String(path), follow);
    const existing = (path: string | Buffer, follow: boolean): Inode => {
      const { inode } = place(path, follow);
      if (inode === undefined) throw errno('ENOENT', String(path));
      return inode;
    };
    const free = (path: string | Buffer): Place => {
      const found = place(path, false);
      if (found.inode !== undefined) throw errno('EEXIST', String(path));
      return found;
    };
    const write = <T>(run: () => T): T => {
      if (this.isFull) throw errno('ENOSPC', '');
      return run();
    };
    return {
      open: (path, flags, mode = 0o666) =>
        call(`open ${String(path)}`, () => {
          const isOwn = /^\/proc\/self\/fd\/\d+$/.test(String(path));
          const isNew = (flags & constants.O_CREAT) !== 0;
          const found = place(path, isOwn || (flags & constants.O_NOFOLLOW) === 0);
          let { inode } = found;
          if (inode !== undefined && isNew && (flags & constants.O_EXCL) !== 0) throw errno('EEXIST', String(path));
          if (inode === undefined && !isNew) throw errno('ENOENT', String(path));
          inode ??= write(() => this.#add(name, found.folder, found.name, 'file', { mode }));
          if ((flags & constants.O_DIRECTORY) !== 0 && inode.kind !== 'folder') throw errno('ENOTDIR', String(path));
          if (inode.kind === 'link' && (flags & pathOnly) === 0) throw errno('ELOOP', String(path));
          if (inode.kind === 'folder' && (flags & constants.O_WRONLY) !== 0) throw errno('EISDIR', String(path));
          if ((flags & constants.O_TRUNC) !== 0) this.#setContent(inode, Buffer.alloc(0));
          const fd = ++this.#lastFile;
          fds.set(fd, inode);
          return this.#handle(process, fds, fd, inode);
        }),
      stat: (path) => call('stat', () => statsOf(existing(path, true))),
      lstat: (path) => call('lstat', () => statsOf(existing(path, false))),
      opendir: (path) =>
        call('opendir', () => {
          const folder = existing(path, true);
          if (folder.kind !== 'folder') throw errno('ENOTDIR', path);
          return direntsOf([...folder.entries]);
        }),
      readFile: (path) =>
        call('readFile', () =>
          path === '/proc/self/mountinfo' ? this.#mountInfo() : existing(path, true).content + '',
        ),
      readFileSync: (path) => String(existing(path, true).content),
      readlink: (path) =>
        call('readlink', () => {
          const [, fd] = /^\/proc\/self\/fd\/(\d+)$/.exec(String(path)) ?? [];
          if (fd !== undefined) return this.pathOf(fds.get(Number(fd))!);
          const inode = existing(path, false);
          if (inode.kind !== 'link') throw errno('EINVAL', String(path));
          return inode.target;
        }),
      realpath: (path) => call('realpath', () => this.pathOf(existing(path, true)) || '/'),
      realpathSync: (path) => this.pathOf(existing(path, true)) || '/',
      mkdir: (path, { mode }) =>
        call('mkdir', () => {
          const { folder, name: entry } = free(path);
          write(() => this.#add(name, folder, entry, 'folder', { mode }));
        }),
      symlink: (target, path) =>
        call('symlink', () => {
          const { folder, name: entry } = free(path);
          write(() => this.#add(name, folder, entry, 'link', { target }));
        }),
      link: (existingPath, newPath) =>
        call('link', () => {
          const inode = existing(existingPath, false);
          const { folder, name: entry } = free(newPath);
          inode.links++;
          folder.entries.set(entry, inode);
          this.#changed(name, 'added', folder, entry, inode);
        }),
      rename: (oldPath, newPath) =>
        call('rename', () => this.#rename(name, place(oldPath, false), place(newPath, false))),
      unlink: (path) =>
        call('unlink', () => {
          const { folder, name: entry, inode } = place(path, false);
          if (inode === undefined) throw errno('ENOENT', String(path));
          if (inode.kind === 'folder') throw errno('EISDIR', String(path));
          if (inode.mounted.length > 0) throw errno('EBUSY', String(path));
          this.#remove(name, folder, entry);
        }),
      rmdir: (path) =>
        call('rmdir', () => {
          const { folder, name: entry, inode } = place(path, false);
          if (inode === undefined) throw errno('ENOENT', String(path));
          if (inode.kind !== 'folder') throw errno('ENOTDIR', String(path));
          if (this.#mounts.some(({ root }) => root === inode)) throw errno('EBUSY', String(path));
          if (inode.entries.size > 0) throw errno('ENOTEMPTY', String(path));
          this.#remove(name, folder, entry);
        }),
      lchown: (path) => call('lchown', () => void existing(path, false)),
      chmod: (path, mode) => call('chmod', () => void (existing(path, true).mode = mode)),
      watch: (path, onChange) => {
        const watch: Watch = { process, folder: existing(path, true), onChange };
        this.#watches.add(watch);
        return { on: () => undefined as never, close: () => void this.#watches.delete(watch) };
      },
      statfs: () =>
        call('statfs', () => ({ type: 1, bsize: 4_096, blocks: 1e8, bfree: 5e7, bavail: 5e7, files: 1e6, ffree: 5e5 })),
      gzip: () => new PassThrough(),
      run: (program, args) => call(program, () => this.#run(name, program, args, place)),
      entropy: this.#world.entropy,
    };
  }

  // Calls

  #strikes(kind: keyof typeof badDisk): boolean {
    if (this.#share === 0 || !this.#random.chance(badDisk[kind] * this.#share)) return false;
    if (!this.#world.happens(`files: ${kind}`)) return false;
    this.#world.count(`files: ${kind}`);
    return true;
  }

  /** Most calls are done at once; no other process runs between them then. A killed process gets no answer. */
  #call<T>(process: SimulatedProcess, what: string, effect: () => T): Promise<T> {
    if (!process.isAlive) return new Promise(() => {});
    const isSlow = this.#strikes('slow');
    const isHanging = this.#strikes('hangs');
    const isFailed = this.#strikes('failed');
    this.hasFailed ||= isFailed || isHanging || this.isFull;
    if (isHanging) this.#hangsUntilMs = this.#world.nowMs + hangMs;
    const takesMs = isHanging ? hangMs : isSlow ? this.#random.next() * 20_000 : 0;
    const begunMs = this.#world.nowMs;
    const act = async (): Promise<T> => {
      this.#begunMs = begunMs;
      if (isFailed) throw errno('EIO', what);
      return effect();
    };
    if (takesMs === 0 && !this.#random.chance(latencyShare)) return act();
    const latencyMs = takesMs + this.#random.next() * 3;
    this.#changeCalls(process, 1);
    return new Promise((resolve, reject) => {
      process.receive(latencyMs, () => {
        this.#changeCalls(process, -1);
        act().then(resolve, reject);
      });
    });
  }

  #changeCalls({ name }: SimulatedProcess, change: number): void {
    this.#calls.set(name, (this.#calls.get(name) ?? 0) + change);
  }

  #handle(process: SimulatedProcess, fds: Map<number, Inode>, fd: number, inode: Inode): FileHandle {
    const call = <T>(what: string, effect: () => T): Promise<T> => this.#call(process, what, effect);
    const write = (content: Buffer): void => {
      if (this.isFull) throw errno('ENOSPC', '');
      this.#setContent(inode, content);
    };
    const handle = {
      fd,
      stat: ({ bigint = false } = {}) =>
        call('fstat', () => {
          const stats = statsOf(inode);
          return bigint ? stats : { ...plainNumbers(stats) };
        }),
      close: async () => void fds.delete(fd),
      sync: () => call('fsync', () => {}),
      chmod: (mode: number) => call('fchmod', () => void (inode.mode = mode)),
      chown: () => call('fchown', () => {}),
      writeFile: (data: Buffer | string) => call('write', () => write(Buffer.from(data as string))),
      read: (buffer: Buffer, offset: number, length: number, position: number) =>
        call('read', () => {
          if (inode.kind === 'folder') throw errno('EISDIR', '');
          return { buffer, bytesRead: inode.content.copy(buffer, offset, position, position + length) };
        }),
      createReadStream: () => Readable.from(inode.content.length === 0 ? [] : [inode.content]),
      createWriteStream: () =>
        new Writable({
          write: (chunk: Buffer, _, done) => {
            try {
              write(Buffer.concat([inode.content, chunk]));
              done();
            } catch (error) {
              done(error as Error);
            }
          },
          final: (done) => {
            fds.delete(fd);
            done();
          },
        }),
    };
    return handle as unknown as FileHandle;
  }

  #run(
    process: string,
    program: string,
    args: readonly string[],
    place: (path: string, follow: boolean) => Place,
  ): void {
    const path = args.at(-1)!;
    const at = this.#place(undefined, path, false).inode;
    if (at === undefined) throw errno('ENOENT', path);
    if (program === 'umount') {
      const index = this.#mounts.findLastIndex(({ root }) => root === at);
      const mount = this.#mounts[index];
      if (mount === undefined) throw new Error(`umount: ${path}: not mounted.`);
      this.#mounts.splice(index, 1);
      mount.at.mounted.pop();
      this.#changed(process, 'removed', mount.at.parent!, mount.at.name, mount.root);
      return;
    }
    const [, fd] = /^\/proc\/\d+\/fd\/(\d+)$/.exec(args.at(-2)!) ?? [];
    const type = args.includes('--bind') ? 'ext4' : args[1]!;
    const root =
      fd === undefined
        ? this.#make('folder', { device: ++this.#lastDevice, madeBy: process, mode: 0o1777 })
        : place(`/proc/self/fd/${fd}`, true).inode!;
    at.mounted.push({ root, type });
    this.#mounts.push({ at, root, type });
    this.#changed(process, 'added', at.parent!, at.name, root);
  }

  #mountInfo(): string {
    return this.#mounts
      .map(({ at, root, type }) => `1 1 0:${root.device} / ${this.pathOf(at)} rw - ${type} ${type} rw\n`)
      .join('');
  }

  // Paths

  /** @param fds of the process, for `/proc/self/fd/N` */
  #place(fds: ReadonlyMap<number, Inode> | undefined, path: string, follow: boolean, depth = 0): Place {
    if (depth > 40) throw errno('ELOOP', path);
    let names = path.split('/').filter(Boolean);
    let folder = this.root;
    if (fds !== undefined && path.startsWith('/proc/self/fd/')) {
      const inode = fds.get(Number(names[3]));
      if (inode === undefined) throw errno('EBADF', path);
      names = names.slice(4);
      if (names.length === 0) return { folder: inode, name: '', inode };
      folder = inode;
    }
    for (const [index, name] of names.entries()) {
      const isLast = index === names.length - 1;
      const rest = names.slice(index + 1);
      if (folder.kind !== 'folder') throw errno('ENOTDIR', path);
      const inode = name === '.' ? folder : name === '..' ? this.#outer(folder) : onTop(folder.entries.get(name));
      if (isLast && (inode === undefined || inode.kind !== 'link' || !follow)) return { folder, name, inode };
      if (inode === undefined) throw errno('ENOENT', path);
      if (inode.kind === 'link') {
        const target = inode.target.startsWith('/') ? inode.target : join(this.pathOf(folder), inode.target);
        return this.#place(undefined, join(target, ...rest), follow, depth + 1);
      }
      folder = inode;
    }
    return { folder, name: '', inode: folder };
  }

  #outer(folder: Inode): Inode {
    const mount = this.#mounts.findLast(({ root }) => root === folder);
    return (mount?.at ?? folder).parent!;
  }

  // Entries

  #make(kind: Inode['kind'], given: Partial<Inode> & Pick<Inode, 'device' | 'madeBy'>): Inode {
    return {
      ...{ ino: ++this.#lastInode, kind, mode: 0o777, links: 1, changedMs: this.#now() },
      ...{ content: Buffer.alloc(0), target: '', entries: new Map(), parent: undefined, name: '', mounted: [] },
      ...given,
    };
  }

  #add(madeBy: string, folder: Inode, name: string, kind: Inode['kind'], given: Partial<Inode> = {}): Inode {
    if (folder.parent === undefined && !this.#mounts.some(({ root }) => root === folder)) throw errno('ENOENT', name);
    const inode = this.#make(kind, { device: folder.device, madeBy, ...given });
    inode.parent = folder;
    inode.name = name;
    folder.entries.set(name, inode);
    this.#changed(madeBy, 'added', folder, name, inode);
    return inode;
  }

  #remove(process: string, folder: Inode, name: string): void {
    const inode = folder.entries.get(name)!;
    folder.entries.delete(name);
    inode.links--;
    if (inode.kind === 'folder') inode.parent = undefined;
    this.#changed(process, 'removed', folder, name, inode);
  }

  #rename(process: string, from: Place, to: Place): void {
    const { inode } = from;
    if (inode === undefined) throw errno('ENOENT', from.name);
    if (inode.device !== to.folder.device || inode !== from.folder.entries.get(from.name))
      throw errno('EXDEV', from.name);
    if (inode.mounted.length > 0 || (to.inode?.mounted.length ?? 0) > 0) throw errno('EBUSY', from.name);
    if (to.inode === inode) return;
    if (to.inode !== undefined) {
      if (to.inode.kind === 'folder' && inode.kind !== 'folder') throw errno('EISDIR', to.name);
      if (to.inode.kind !== 'folder' && inode.kind === 'folder') throw errno('ENOTDIR', to.name);
      if (to.inode.entries.size > 0) throw errno('ENOTEMPTY', to.name);
      to.inode.links--;
      if (to.inode.kind === 'folder') to.inode.parent = undefined;
    }
    from.folder.entries.delete(from.name);
    to.folder.entries.set(to.name, inode);
    inode.parent = to.folder;
    inode.name = to.name;
    inode.changedMs = this.#now();
    this.#changed(process, 'added', to.folder, to.name, inode);
    this.#changed(process, 'removed', from.folder, from.name, inode);
    this.#tell(from.folder, from.name);
    this.#tell(to.folder, to.name);
  }

  #setContent(inode: Inode, content: Buffer): void {
    inode.content = content;
    inode.changedMs = this.#now();
  }

  #changed(process: string, what: FileChange['what'], folder: Inode, name: string, inode: Inode): void {
    this.onChange?.({ process, what, folder, name, inode, begunMs: this.#begunMs });
  }

  /** Those who watch a folder get to know of a change a little later. */
  #tell(folder: Inode, name: string): void {
    for (const watch of this.#watches) {
      if (watch.folder !== folder) continue;
      watch.process.receive(this.#random.next() * 5, () => {
        if (this.#watches.has(watch)) watch.onChange('change', name);
      });
    }
  }
}

/** What a path leads to: what is mounted there, if anything is. */
function onTop(inode: Inode | undefined): Inode | undefined {
  const mount = inode?.mounted.at(-1);
  return mount === undefined ? inode : onTop(mount.root);
}

async function* direntsOf(entries: readonly (readonly [string, Inode])[]): AsyncGenerator<Dirent<Buffer>> {
  for (const [name, { kind }] of entries)
    yield { name: Buffer.from(name), ...isKind(kind) } as unknown as Dirent<Buffer>;
}

function isKind(kind: Inode['kind']): object {
  return {
    isFile: () => kind === 'file',
    isDirectory: () => kind === 'folder',
    isSymbolicLink: () => kind === 'link',
    ...Object.fromEntries(
      ['isFIFO', 'isSocket', 'isCharacterDevice', 'isBlockDevice'].map((name) => [name, () => false]),
    ),
  };
}

function statsOf(inode: Inode): BigIntStats {
  const { ino, device, kind, mode, links, changedMs } = inode;
  const size = BigInt(inode.size?.() ?? inode.content.length);
  const changedNs = BigInt(Math.floor(changedMs * 1e6));
  return {
    ...{ ino, dev: device, mode: BigInt(mode), nlink: BigInt(links), uid: 0n, gid: 0n, size },
    blocks: (BigInt(blockBytes / 512) * (size + BigInt(blockBytes) - 1n)) / BigInt(blockBytes),
    ...{ mtimeNs: changedNs, ctimeNs: changedNs, ctimeMs: changedNs / 1_000_000n },
    ...isKind(kind),
  } as unknown as BigIntStats;
}

function plainNumbers(stats: BigIntStats): object {
  return Object.fromEntries(
    Object.entries(stats).map(([name, value]) => [
      name,
      typeof value === 'bigint' ? Number(value) : (value as unknown),
    ]),
  );
}

function errno(code: string, path: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: simulated, '${path}'`), { code, path });
}
