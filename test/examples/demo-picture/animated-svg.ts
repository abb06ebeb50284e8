import type { Frame, Line } from './screen-recording.ts';

const fontSize = 12;
const lineHeight = 17;
const characterWidth = 7.3;
const padding = 16;

export interface AnimationOptions {
  /** What a screen reader says. */
  readonly title: string;
  /** The line above the screen. */
  readonly heading: string;
  readonly columns: number;
  /** When the last frame ends. */
  readonly endMs: number;
  /** How much faster it plays than it was recorded. */
  readonly speed: number;
  /** What is shown to readers who prefer reduced motion. */
  readonly stillAtMs: number;
}

/** A line that stands at a place for a while. */
interface Appearance extends Line {
  readonly row: number;
  readonly fromMs: number;
  untilMs: number;
}

/** A recording as an SVG that repeats without a script, in light and dark, and stands still on request. */
export function animatedSVG(
  frames: readonly Frame[],
  { title, heading, columns, endMs, speed, stillAtMs }: AnimationOptions,
): string {
  const appearances = appearancesOf(frames, endMs);
  const rows = Math.max(...frames.map(({ lines }) => lines.length));
  const width = Math.ceil(columns * characterWidth + 2 * padding);
  const height = (rows + 2) * lineHeight + 2 * padding;
  const percent = (ms: number): string => `${Number(((100 * ms) / endMs).toFixed(2))}%`;

  const animations = new Map<string, string>();
  const texts = appearances.map(({ row, text, colour, fromMs, untilMs }) => {
    const [from, until] = [percent(fromMs), percent(untilMs)];
    const keyframes =
      `${from === '0%' ? '' : '0%{visibility:hidden}'}${from}{visibility:visible}` +
      (until === '100%' ? '' : `${until}{visibility:hidden}`);
    if (!animations.has(keyframes)) animations.set(keyframes, `k${animations.size}`);
    const isStill = fromMs <= stillAtMs && stillAtMs < untilMs;
    const classes = ['v', colour, ...(isStill ? ['still'] : [])].join(' ');
    const style = `animation-name:${animations.get(keyframes)}`;
    return `<text class="${classes}" style="${style}" x="${padding}" y="${yOf(row + 2)}">${escapeXML(text)}</text>`;
  });

  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escapeXML(title)}">
<title>${escapeXML(title)}</title>
<style>
svg{color-scheme:light dark;--page:#f6f8fa;--plain:#1f2328;--green:#116329;--yellow:#7d4e00;--red:#a40e26;--gray:#59636e;--cyan:#0a5c8a}
@media(prefers-color-scheme:dark){svg{--page:#151b23;--plain:#e6edf3;--green:#56d364;--yellow:#e3b341;--red:#ff7b72;--gray:#9198a1;--cyan:#76c7f0}}
text{font:${fontSize}px ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace;white-space:pre;fill:var(--plain)}
.v{visibility:hidden;animation:${endMs / speed}ms step-end infinite}
.bold{font-weight:bold}${['green', 'yellow', 'red', 'gray', 'cyan'].map((name) => `.${name}{fill:var(--${name})}`).join('')}
.still{visibility:visible}
@media(prefers-reduced-motion:reduce){.v{animation:none}}
${[...animations].map(([keyframes, name]) => `@keyframes ${name}{${keyframes}}`).join('\n')}
</style>
<rect width="100%" height="100%" rx="8" style="fill:var(--page)"/>
<text class="gray" x="${padding}" y="${yOf(0)}">${escapeXML(heading)}</text>
${texts.join('\n')}
</svg>
`;
}

function yOf(row: number): number {
  return padding + fontSize + row * lineHeight;
}

/** A line that does not change from one frame to the next is one appearance. */
function appearancesOf(frames: readonly Frame[], endMs: number): Appearance[] {
  const appearances: Appearance[] = [];
  const shown = new Map<number, Appearance>();
  frames.forEach(({ atMs, lines }, index) => {
    const untilMs = frames[index + 1]?.atMs ?? endMs;
    lines.forEach((line, row) => {
      const last = shown.get(row);
      if (last?.untilMs === atMs && last.text === line.text && last.colour === line.colour) {
        last.untilMs = untilMs;
        return;
      }
      const appearance = { ...line, row, fromMs: atMs, untilMs };
      shown.set(row, appearance);
      if (line.text !== '') appearances.push(appearance);
    });
  });
  return appearances;
}

function escapeXML(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
