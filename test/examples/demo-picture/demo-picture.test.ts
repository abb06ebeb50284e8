import { describe, expect, it } from 'vitest';
import { animatedSVG } from './animated-svg.ts';
import { ScreenRecording } from './screen-recording.ts';

describe('the picture of the demo', () => {
  it('has the lines of each frame of the table, with their colours', () => {
    const recording = new ScreenRecording();
    const [clear, end] = ['\u001B[K', '\u001B[J'];
    recording.write(`started\n\r${clear}\u001B[1mPOD\u001B[22m\n${clear}\u001B[32mweb\u001B[39m\n${end}`, 0);
    recording.write(`\u001B[2A\r${clear}\u001B[1mPOD\u001B[22m\n`, 250);
    recording.write(`${clear}\u001B[31mweb\u001B[39m\n${clear}below\n${end}`, 251);
    const pod = { text: 'POD', colour: 'bold' };
    expect(recording.frames).toEqual([
      { atMs: 0, lines: [pod, { text: 'web', colour: 'green' }] },
      { atMs: 251, lines: [pod, { text: 'web', colour: 'red' }, { text: 'below', colour: 'plain' }] },
    ]);
  });

  it('shows each line from its first frame to its last, and one frame with prefers-reduced-motion', () => {
    const line = (text: string) => ({ text, colour: 'plain' as const });
    const svg = animatedSVG(
      [
        { atMs: 0, lines: [line('same'), line('a < b')] },
        { atMs: 500, lines: [line('same'), line('later')] },
      ],
      { title: 't', heading: 'h', columns: 80, endMs: 1000, speed: 2, stillAtMs: 700 },
    );
    const texts = [...svg.matchAll(/<text class="v plain( still)?" style="animation-name:(k\d)".*>(.*)<\/text>/g)];
    expect(texts.map(([, still, , text]) => [text, still !== undefined])).toEqual([
      ['same', true],
      ['a &lt; b', false],
      ['later', true],
    ]);
    expect(svg).toContain('@keyframes k1{0%{visibility:visible}50%{visibility:hidden}}');
    expect(svg).toContain('@keyframes k2{0%{visibility:hidden}50%{visibility:visible}}');
    expect(svg).toContain('animation:500ms step-end infinite');
  });
});
