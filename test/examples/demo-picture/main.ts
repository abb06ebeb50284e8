import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { animatedSVG } from './animated-svg.ts';
import { type Frame, ScreenRecording } from './screen-recording.ts';

/*
 * `npm run demo-picture`: runs the demo, presses the key o, and draws docs/images/demo.svg from what it showed.
 */

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const outageAtMs = 12_000;
const endMs = 52_000;
const stillAtMs = 30_000;
/** Of the four frames a second that the demo draws, the picture has two. */
const framePeriodMs = 500;
const maxBytes = 200_000;

const home = mkdtempSync(join(tmpdir(), 'demo-'));
try {
  const recording = await record();
  const frames = thinned(recording);
  const svg = animatedSVG(frames, {
    title:
      'The demo in a terminal: pods start and change; the API server is away for 20 s, in which unsent changes wait; ' +
      'when it is back, all of them are written',
    heading: '$ npm start   (played at twice the speed)',
    columns: 100,
    endMs,
    speed: 2,
    stillAtMs,
  });
  if (svg.length > maxBytes) throw new Error(`The picture has ${svg.length} bytes, more than ${maxBytes}`);
  writeFileSync(join(root, 'docs/images/demo.svg'), svg);
  console.log(`docs/images/demo.svg: ${frames.length} frames, ${svg.length} bytes`);
} finally {
  rmSync(home, { recursive: true, force: true, maxRetries: 3 });
}

async function record(): Promise<readonly Frame[]> {
  const files = fileURLToPath(new URL('fake-terminal.js', import.meta.url));
  const main = join(root, 'dist/examples/node-agent/main.js');
  const args = ['--import', files, main, '--node-name', 'node-1', '--for', `${endMs + 3_000}ms`];
  const { NO_COLOR: _, ...env } = process.env;
  const demo = spawn(process.execPath, args, {
    env: { ...env, HOME: home, TERM: 'xterm-256color' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(demo, 'exit');
  const recording = new ScreenRecording();
  let startedMs: number | undefined;
  demo.stdout.setEncoding('utf8').on('data', (text: string) => {
    recording.write(text, performance.now() - (startedMs ?? performance.now()));
    if (recording.frames.length > 0) startedMs ??= performance.now();
  });
  while (startedMs === undefined) await Promise.race([once(demo.stdout, 'data'), ended]);
  await sleep(outageAtMs);
  demo.stdin.write('o');
  const [code] = (await ended) as [number | null];
  if (code !== 0) throw new Error(`The demo ended with ${code}`);
  return recording.frames.filter(({ atMs }) => atMs < endMs);
}

function thinned(frames: readonly Frame[]): Frame[] {
  return frames.filter(
    ({ atMs }, index) =>
      Math.floor(atMs / framePeriodMs) !== Math.floor((frames[index - 1]?.atMs ?? -1) / framePeriodMs),
  );
}
