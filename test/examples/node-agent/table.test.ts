import { Writable } from 'node:stream';
import type { WriteStream } from 'node:tty';
import { BasicPodManager, type Pod, StatusManager } from 'kubelet-status-manager';
import { FakeClock, FakePodClient } from 'kubelet-status-manager/testing';
import { describe, expect, it } from 'vitest';
import { PodHistory } from '../../../examples/node-agent/pod-history.ts';
import { podTableRows } from '../../../examples/node-agent/pod-table.ts';
import { columnWidths, LiveTable, renderTable, type TableRow, wrap } from '../../../examples/node-agent/table.ts';

const row = { phase: 'Running', ready: '1/1', restarts: '0', reason: '', cached: '2', sent: '1', unsent: '1' };
const rows = [
  { ...row, pod: 'a' },
  { ...row, pod: 'kube-system/longer-name', phase: 'Deleted', cached: '', sent: '', unsent: '' },
];

const render = (rows: readonly TableRow[], { width = 100, height = 24 } = {}): string[] =>
  renderTable(rows, { width, height }).map(({ text }) => text);

describe('renderTable', () => {
  it('aligns its columns', () => {
    expect(render(rows)).toEqual([
      'POD                      READY  STATUS             RESTARTS  CACHED  SENT  UNSENT',
      'a                        1/1    Running            0         2       1     1',
      'kube-system/longer-name  1/1    Deleted            0',
    ]);
  });

  it('shows all columns at 80 columns, whatever a pod is named and waits for', () => {
    const waiting = [{ ...row, pod: 'default/init-container-and-sidecar', reason: 'CrashLoopBackOff' }];
    expect(render(waiting, { width: 80 })).toEqual([
      'POD                     READY  STATUS             RESTARTS  CACHED  SENT  UNSENT',
      'default/init-containe…  1/1    CrashLoopBackOff   0         2       1     1',
    ]);
  });

  it('is never wider than the terminal', () => {
    for (const line of render(rows, { width: 20 })) expect(line.length).toBeLessThanOrEqual(20);
  });

  it('says how many pods a low window does not show', () => {
    const many = Array.from({ length: 9 }, (_, at) => ({ ...row, pod: `${at}` }));
    expect(render(many, { height: 10 })).toHaveLength(10);
    const lines = render(many, { height: 6 });
    expect(lines).toHaveLength(6);
    expect(lines.at(-1)).toBe('… 5 more pods; enlarge the window to see them');
  });

  it('marks pods with an unsent status', () => {
    const formats = renderTable([...rows, { ...row, pod: 'b', unsent: '' }], { width: 80, height: 9 });
    expect(formats.map(({ format }) => format)).toEqual(['bold', 'yellow', 'gray', 'green']);
  });
});

describe('columnWidths', () => {
  it('never shrink, so that the columns keep their places', () => {
    const wide = columnWidths([{ ...row, pod: 'a', reason: 'CreateContainerConfigError' }]);
    expect(columnWidths([{ ...row, pod: 'a' }], wide)).toEqual(wide);
    expect(columnWidths([{ ...row, pod: 'a' }])).not.toEqual(wide);
  });

  it('are the same for all usual states of a container', () => {
    const widths = ['', 'ContainerCreating', 'CrashLoopBackOff', 'Error'].map((reason) =>
      columnWidths([{ ...row, pod: 'a', reason, restarts: '12', unsent: '10' }]),
    );
    for (const other of widths) expect(other).toEqual(widths[0]);
  });
});

describe('wrap', () => {
  it('breaks a sentence between its words, and keeps all of them', () => {
    expect(wrap('GET fails (ECONNREFUSED); next try in 3 s.', 16)).toEqual([
      'GET fails',
      '(ECONNREFUSED);',
      'next try in 3 s.',
    ]);
    expect(wrap('a longer-than-the-width b', 10)).toEqual(['a', 'longer-than-the-width', 'b']);
  });
});

describe('podTableRows', () => {
  function podOf(name: string, deletionTimestamp?: string): Pod {
    return {
      metadata: { namespace: 'default', name, uid: `uid-${name}`, ...(deletionTimestamp && { deletionTimestamp }) },
      spec: { containers: [{ name: 'c' }, { name: 'd' }] },
      status: { phase: 'Pending' },
    };
  }

  /** The parts of an agent that the table reads, after they were given the pods. */
  function setUp(...pods: readonly Pod[]) {
    const clock = new FakeClock();
    const client = new FakePodClient(pods);
    const podManager = new BasicPodManager();
    const manager = new StatusManager({ client, podManager, podCouldHaveRunningContainers: () => false, clock });
    const history = new PodHistory(() => true);
    for (const pod of pods) {
      podManager.updatePod(pod);
      history.handlePod(pod);
    }
    return { clock, client, manager, history, rows: () => podTableRows(history, manager) };
  }

  const ready = { name: 'c', ready: true, restartCount: 3, state: { running: {} } };
  const crashed = { name: 'd', ready: false, restartCount: 1, state: { waiting: { reason: 'CrashLoopBackOff' } } };

  it('show the cached and the sent version, and how many are unsent', async () => {
    const pod = podOf('web');
    const { manager, rows } = setUp(pod);
    manager.setPodStatus(pod, { phase: 'Pending' });
    const pending = { pod: 'web', phase: 'Pending', ready: '0/2', restarts: '0', reason: '' };
    expect(rows()).toEqual([{ ...pending, cached: '1', sent: '-', unsent: '1' }]);
    await manager.syncBatch(true);
    expect(rows()).toEqual([{ ...pending, cached: '1', sent: '1', unsent: '' }]);

    manager.setPodStatus(pod, { phase: 'Running', containerStatuses: [ready] });
    manager.setPodStatus(pod, { phase: 'Running', containerStatuses: [ready, crashed] });
    expect(rows()).toEqual([
      {
        ...{ pod: 'web', phase: 'Running', ready: '1/2', restarts: '4' },
        ...{ cached: '3', sent: '1', unsent: '2', reason: 'CrashLoopBackOff' },
      },
    ]);
    await manager.syncBatch(true);
    expect(rows()).toMatchObject([{ cached: '3', sent: '3', unsent: '' }]);
  });

  it('show existing pods before deleted ones, and forget the oldest deleted ones', () => {
    const { history, rows } = setUp(podOf('web'));
    for (let i = 0; i < 150; i++) history.handleRemovedPod(podOf(`gone-${i}`));
    expect(rows()[0]).toMatchObject({ pod: 'web' });
    expect(rows()).toHaveLength(101);
    expect(history.all().some(({ pod }) => pod.metadata?.name === 'gone-49')).toBe(false);
  });

  it('are in order, and mark pods that are terminating, deleted, or not yet known to the status manager', () => {
    const going = podOf('going', '2000-01-01T00:00:30Z');
    const gone = podOf('gone');
    const { manager, history, rows } = setUp(podOf('new'), gone, going);
    for (const pod of [going, gone])
      manager.setPodStatus(pod, { phase: 'Running', containerStatuses: [ready, crashed] });
    history.handleRemovedPod(gone);
    const unsent = { cached: '1', sent: '-', unsent: '1' };
    const unknown = { cached: '', sent: '', unsent: '' };
    expect(rows()).toEqual([
      { pod: 'going', phase: 'Running', ready: '1/2', restarts: '4', ...unsent, reason: 'Terminating' },
      { pod: 'new', phase: 'Pending', ready: '0/2', restarts: '0', ...unknown, reason: '' },
      { pod: 'gone', phase: 'Deleted', ready: '', restarts: '', ...unsent, reason: '' },
    ]);
  });

  it('have the namespace of a pod that is not in `default`', () => {
    const pod = podOf('web');
    const { rows } = setUp({ ...pod, metadata: { ...pod.metadata, namespace: 'kube-system' } });
    expect(rows()).toMatchObject([{ pod: 'kube-system/web' }]);
  });
});

const escape = '\x1b';
/** A cursor movement or a clearing sequence; the end of a line; text. */
const tokens = new RegExp(`${escape}\\[(\\d*)([A-Z])|\n|\r|${escape}?[^${escape}\n\r]+`, 'g');

/** A terminal that records its screen and supports only the sequences that the table uses. */
class Terminal extends Writable {
  readonly isTTY = true;
  columns: number;
  readonly rows: number;
  screen: string[] = [''];
  #x = 0;
  #y = 0;

  constructor({ columns = 100, rows = 24 } = {}) {
    super({ decodeStrings: false });
    this.columns = columns;
    this.rows = rows;
  }

  hasColors(): boolean {
    return false;
  }

  /** A narrower window wraps the lines on the screen. */
  narrow(columns: number): void {
    const wrapped = this.screen.flatMap((line) => line.match(new RegExp(`.{1,${columns}}`, 'g')) ?? ['']);
    this.#y += wrapped.length - this.screen.length;
    this.screen = wrapped;
    this.columns = columns;
  }

  override _write(text: string, _encoding: string, done: () => void): void {
    for (const [token, count, command] of text.matchAll(tokens)) {
      if (command === 'A') this.#y = Math.max(0, this.#y - Number(count));
      else if (command === 'K') this.screen[this.#y] = this.screen[this.#y]!.slice(0, this.#x);
      else if (command === 'J') this.#clearDown();
      else if (token === '\n') this.#newLine();
      else if (token === '\r') this.#x = 0;
      else this.#print(token);
    }
    done();
  }

  #clearDown(): void {
    this.screen.length = this.#y + 1;
    this.screen[this.#y] = this.screen[this.#y]!.slice(0, this.#x);
  }

  #newLine(): void {
    this.#x = 0;
    this.#y += 1;
    this.screen[this.#y] ??= '';
  }

  #print(text: string): void {
    if (text.startsWith(escape)) throw new Error(`Unknown escape sequence: ${JSON.stringify(text)}`);
    const line = this.screen[this.#y]!;
    this.screen[this.#y] = line.slice(0, this.#x).padEnd(this.#x) + text + line.slice(this.#x + text.length);
    this.#x += text.length;
  }
}

describe('LiveTable', () => {
  const rows = [
    { ...row, pod: 'a' },
    { ...row, pod: 'b', phase: 'Deleted' },
  ];

  function setUp(size?: { readonly columns?: number; readonly rows?: number }, footer: readonly string[] = []) {
    const clock = new FakeClock();
    const terminal = new Terminal(size);
    const shown: { rows: readonly TableRow[] } = { rows };
    const table = new LiveTable(
      terminal as unknown as WriteStream,
      () => shown.rows,
      clock,
      () => footer.map((text) => ({ text })),
    );
    return { clock, terminal, shown, table };
  }

  const lines = (rows: readonly TableRow[]): string[] => render(rows);

  it('draws itself immediately, below the existing output', () => {
    const { terminal, table } = setUp();
    terminal.write('started\n');
    table.start();
    expect(terminal.screen).toEqual(['started', ...lines(rows), '']);
  });

  it('is redrawn in place four times a second, whether it has grown or shrunk', () => {
    const { clock, terminal, shown, table } = setUp();
    terminal.write('started\n');
    table.start();
    const more = [...rows, { ...row, pod: 'z' }];
    const fewer = [{ ...row, pod: 'z' }];
    for (const next of [more, fewer, rows]) {
      const before = [...terminal.screen];
      shown.rows = next;
      clock.advance(249);
      expect(terminal.screen).toEqual(before);
      clock.advance(1);
      expect(terminal.screen).toEqual(['started', ...lines(next), '']);
    }
  });

  it('is redrawn by one write that clears no line before it is written, so that nothing flickers', () => {
    const { clock, terminal, table } = setUp();
    table.start();
    const writes: string[] = [];
    terminal.write = (text: string): boolean => writes.push(text) > 0;
    clock.advance(250);
    expect(writes).toHaveLength(1);
    const [beforeText = ''] = writes[0]!.split('POD');
    expect(beforeText).toBe(`${escape}[3A\r${escape}[K`);
  });

  it('keeps the widths of its columns', () => {
    const { clock, terminal, shown, table } = setUp();
    shown.rows = [{ ...row, pod: 'a', reason: 'CreateContainerConfigError' }];
    table.start();
    const [header] = terminal.screen;
    shown.rows = rows;
    clock.advance(250);
    expect(terminal.screen[0]).toBe(header);
  });

  it('shows the current pods when it stops, and later output is written below it', () => {
    const { clock, terminal, shown, table } = setUp();
    table.start();
    clock.advance(500);
    shown.rows = [{ ...row, pod: 'last' }];
    table.stop();
    expect(clock.pendingTimers).toBe(0);
    terminal.write('done\n');
    shown.rows = rows;
    clock.advance(1_000);
    expect(terminal.screen).toEqual([...lines([{ ...row, pod: 'last' }]), 'done', '']);
  });

  it('fits into a small terminal, whose last line stays free', () => {
    const { terminal, table } = setUp({ columns: 10, rows: 3 });
    table.start();
    expect(terminal.screen).toEqual([...render(rows, { width: 10, height: 2 }), '']);
  });

  it('shows its footer below the rows, as far as there is room', () => {
    const { terminal, table } = setUp({ columns: 20, rows: 6 }, ['', 'The API server is DOWN', 'no room']);
    table.start();
    expect(terminal.screen).toEqual([...render(rows, { width: 20 }), '', 'The API server is D…', '']);
  });

  it('assumes 80 by 24 for a terminal without a size', () => {
    const { terminal, shown, table } = setUp({ columns: 0, rows: 0 });
    shown.rows = Array.from({ length: 30 }, (_, at) => ({ ...row, pod: `pod-${at}` }));
    table.start();
    expect(terminal.screen).toEqual([...render(shown.rows, { width: 80, height: 23 }), '']);
  });

  it('clears all its old lines when the window has become narrower', () => {
    const { clock, terminal, table } = setUp();
    terminal.write('started\n');
    table.start();
    terminal.narrow(40);
    clock.advance(250);
    expect(terminal.screen).toEqual(['started', ...render(rows, { width: 40 }), '']);
  });
});
