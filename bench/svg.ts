export type Point = readonly [x: number, y: number];

export interface LinePlot {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  /** x and y, ascending by x. */
  readonly points: readonly Point[];
  /** A second line, named at its end. */
  readonly reference?: { readonly name: string; readonly points: readonly Point[] };
}

const width = 640;
const height = 360;
const margin = { top: 44, right: 28, bottom: 56, left: 72 };
const ticks = 5;

/** A line through points, with both axes starting at 0. Readable on any background. */
export function linePlot({ title, xLabel, yLabel, points, reference }: LinePlot): string {
  const all = [...points, ...(reference?.points ?? [])];
  const xMax = niceCeiling(Math.max(...all.map(([x]) => x)));
  const yMax = niceCeiling(Math.max(...all.map(([, y]) => y)));
  const left = (x: number): number => round(margin.left + (x / xMax) * (width - margin.left - margin.right));
  const top = (y: number): number => round(height - margin.bottom - (y / yMax) * (height - margin.top - margin.bottom));
  const steps = Array.from({ length: ticks + 1 }, (_, i) => i / ticks);
  const line = (linePoints: readonly Point[], color: string): string[] => [
    `<polyline fill="none" stroke="${color}" stroke-width="2" points="${linePoints.map(([x, y]) => `${left(x)},${top(y)}`).join(' ')}"/>`,
    ...linePoints.map(
      ([x, y]) =>
        `<circle cx="${left(x)}" cy="${top(y)}" r="4" fill="${color}"/>${text(left(x), top(y) - 10, label(y), 'middle')}`,
    ),
  ];
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12" fill="#333">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    text(width / 2, 24, title, 'middle', ' font-size="15"'),
    ...steps.map(
      (step) => horizontal(top(step * yMax)) + text(margin.left - 8, top(step * yMax) + 4, label(step * yMax), 'end'),
    ),
    ...steps.map((step) => text(left(step * xMax), height - margin.bottom + 18, label(step * xMax), 'middle')),
    text((margin.left + width - margin.right) / 2, height - 14, xLabel, 'middle'),
    text(0, 0, yLabel, 'middle', ` transform="translate(18 ${(margin.top + height - margin.bottom) / 2}) rotate(-90)"`),
    ...line(points, '#326ce5'),
    ...(reference === undefined ? [] : line(reference.points, '#888')),
    ...(reference?.points.slice(-1) ?? []).map(([x, y]) => text(left(x), top(y) + 20, reference!.name, 'end')),
    '</svg>',
  ];
  return `${lines.join('\n')}\n`;
}

/** The smallest of 1, 2, 2.5 or 5 times a power of ten that is at least `value`. */
function niceCeiling(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= value) ?? 10 * power;
}

function horizontal(y: number): string {
  return `<line x1="${margin.left}" x2="${width - margin.right}" y1="${y}" y2="${y}" stroke="#ddd"/>`;
}

function text(x: number, y: number, content: string, anchor: 'middle' | 'end', attributes = ''): string {
  return `<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}"${attributes}>${escape(content)}</text>`;
}

function label(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString('en-US');
}

function escape(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function round(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}
