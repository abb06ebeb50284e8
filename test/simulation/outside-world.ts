import childProcess from 'node:child_process';
import crypto from 'node:crypto';
import dns from 'node:dns';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import os from 'node:os';
import { performance } from 'node:perf_hooks';
import type { World } from './world.ts';

type AnyFunction = (...args: never[]) => unknown;

/** What a simulation may not use, because its result differs between two runs. */
const forbidden: readonly (readonly [object: object, names: readonly string[], as: string])[] = [
  [globalThis, ['setTimeout', 'setInterval', 'setImmediate', 'fetch'], ''],
  [process, ['hrtime', 'uptime', 'memoryUsage', 'cpuUsage'], 'process.'],
  [crypto, ['randomFill', 'randomFillSync', 'generateKeyPairSync', 'generateKeyPair'], 'crypto.'],
  [fs, functionsOf(fs), 'fs.'],
  [fs.promises, functionsOf(fs.promises), 'fs.promises.'],
  [net, ['connect', 'createConnection', 'createServer'], 'net.'],
  [dns, ['lookup', 'resolve'], 'dns.'],
  [childProcess, ['spawn', 'exec', 'execFile', 'fork', 'spawnSync', 'execSync', 'execFileSync'], 'child_process.'],
  [os, ['freemem', 'loadavg', 'uptime'], 'os.'],
];

/** These get the world's time and randomness besides. */
const replaced = {
  performance: ['now'],
  Math: ['random'],
  crypto: ['randomUUID', 'randomBytes', 'randomInt'],
} as const;

/**
 * While a world runs, reports what reaches for real time, randomness, files or sockets. Where it can, it answers from the
 * world, so that one such place does not hide others.
 */
export class OutsideWorld {
  readonly #world: World;
  readonly #onLeak: (what: string) => void;
  readonly #seen = new Set<string>();
  readonly #restores: (() => void)[] = [];
  readonly #Date = Date;
  readonly setImmediate = setImmediate;
  #isInside = false;

  constructor(world: World, onLeak: (what: string) => void) {
    this.#world = world;
    this.#onLeak = onLeak;
  }

  /** From here on, the calls inside of events are watched. */
  close(): void {
    for (const [object, names, as] of forbidden) {
      for (const name of names) {
        this.#replace(object, name, (real) => (...args: never[]) => {
          this.#leak(`${as}${name}`);
          return real(...args);
        });
      }
    }
    const random = this.#world.random.fork('outside');
    const { entropy } = this.#world;
    const answers: Record<string, AnyFunction> = {
      'performance.now': () => this.#world.nowMs,
      'Math.random': () => random.next(),
      'crypto.randomUUID': () => entropy.uuid(),
      'crypto.randomBytes': (count: number) => entropy.bytes(count),
      'crypto.randomInt': (min: number, max?: number) =>
        (max === undefined ? 0 : min) + entropy.integer(max === undefined ? min : max - min),
    };
    const objects = { performance, Math, crypto };
    for (const [object, names] of Object.entries(replaced)) {
      for (const name of names) {
        const as = `${object}.${name}`;
        this.#replace(objects[object as keyof typeof objects], name, (real) => (...args: never[]) => {
          if (!this.#isInside) return real(...args);
          this.#leak(as);
          return answers[as]!(...args);
        });
      }
    }
    this.#replaceDate();
    syncBuiltinESMExports();
  }

  /** Everything is as before. */
  open(): void {
    for (const restore of this.#restores.splice(0)) restore();
    syncBuiltinESMExports();
  }

  enter(): void {
    this.#isInside = true;
  }

  leave(): void {
    this.#isInside = false;
  }

  #replace(object: object, name: string, replacement: (real: AnyFunction) => AnyFunction): void {
    const descriptor = Object.getOwnPropertyDescriptor(object, name);
    const real = Reflect.get(object, name) as AnyFunction;
    const instead = replacement(real.bind(object));
    // Such as `promisify.custom`, and `hrtime.bigint`.
    Object.defineProperties(
      instead,
      Object.fromEntries(
        Object.entries(Object.getOwnPropertyDescriptors(real)).filter(
          ([key]) => !['length', 'name', 'prototype'].includes(key),
        ),
      ),
    );
    for (const symbol of Object.getOwnPropertySymbols(real)) Reflect.set(instead, symbol, Reflect.get(real, symbol));
    Object.defineProperty(object, name, { value: instead, configurable: true, writable: true, enumerable: true });
    this.#restores.push(() => {
      if (descriptor === undefined) Reflect.deleteProperty(object, name);
      else Object.defineProperty(object, name, descriptor);
    });
  }

  #replaceDate(): void {
    const RealDate = this.#Date;
    const now = (): number => {
      if (!this.#isInside) return RealDate.now();
      this.#leak('Date.now');
      return Math.floor(this.#world.startEpochMs + this.#world.nowMs);
    };
    // Not a Proxy, through which each Date takes several times longer.
    const WorldDate = function (...args: [] | [value: number]): Date | string {
      const date = args.length === 0 ? new RealDate(now()) : new RealDate(...args);
      return new.target === undefined ? date.toString() : date;
    };
    Object.setPrototypeOf(WorldDate, RealDate);
    globalThis.Date = Object.assign(WorldDate, { prototype: RealDate.prototype, now }) as unknown as DateConstructor;
    this.#restores.push(() => void (globalThis.Date = RealDate));
  }

  #leak(what: string): void {
    if (!this.#isInside) return;
    const { stack = '' } = new Error(what);
    const lines = stack
      .split('\n')
      .slice(1)
      .map((line) => line.trim());
    const callers = lines.filter((line) => !line.includes('outside-world.') && !line.includes('node:internal'));
    const described = `${what} ${callers.slice(0, 3).join(' ')}`;
    if (this.#seen.has(described)) return;
    this.#seen.add(described);
    this.#onLeak(described);
  }
}

function functionsOf(object: object): string[] {
  return Object.entries(object)
    .filter(([name, value]) => typeof value === 'function' && /^[a-z]/.test(name))
    .map(([name]) => name);
}
