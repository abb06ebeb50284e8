import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { readKeys } from '../../../examples/node-agent/keys.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';
import { LogTail } from '../../../examples/node-agent/log-tail.ts';

class Terminal extends EventEmitter {
  readonly modes: boolean[] = [];
  readonly setEncoding = (): this => this;
  readonly resume = (): this => this;
  readonly pause = (): this => this;
  setRawMode(mode: boolean): this {
    this.modes.push(mode);
    return this;
  }
}

describe('readKeys', () => {
  it('reports each key that is typed from now on, and leaves Ctrl-C and Ctrl-Z to the process group, as a terminal does', () => {
    const terminal = new Terminal();
    const keys: string[] = [];
    const signals: string[] = [];
    const clock = new FakeClock();
    const stop = readKeys(
      terminal as unknown as Parameters<typeof readKeys>[0],
      (key) => void keys.push(key),
      clock,
      (signal) => void signals.push(signal),
    );
    // Typed before: the terminal has kept it.
    terminal.emit('data', 'q');
    clock.advance(100);
    terminal.emit('data', 'xo\u0003');
    expect([keys, signals, terminal.modes]).toEqual([['x', 'o'], ['SIGINT'], [true]]);
    terminal.emit('data', '\u001A');
    process.emit('SIGCONT');
    expect([signals, terminal.modes]).toEqual([
      ['SIGINT', 'SIGTSTP'],
      [true, false, true],
    ]);
    stop();
    process.emit('SIGCONT');
    expect(terminal.modes).toEqual([true, false, true, false]);
    expect(terminal.listenerCount('data')).toBe(0);
  });
});

describe('LogTail', () => {
  it('has the newest lines as text, with the pod and the reason', () => {
    const tail = new LogTail(2);
    const time = new Date(2026, 0, 2, 3, 4, 5).getTime();
    tail.write(JSON.stringify({ level: 30, time, msg: 'one' }));
    tail.write(JSON.stringify({ level: 40, time, msg: 'two', pod: 'default/web', reason: 'connection refused' }));
    tail.write(JSON.stringify({ level: 50, time, msg: 'three' }));
    expect(tail.lines()).toEqual(['03:04:05 WARN  default/web: two (connection refused)', '03:04:05 ERROR three']);
    tail.clear();
    expect(tail.lines()).toEqual([]);
  });
});
