/** One line of a panel: Unix seconds and values. */
export interface Series {
  readonly name: string;
  readonly points: readonly (readonly [seconds: number, value: number])[];
}

export interface Panel {
  readonly title: string;
  readonly unit: string;
  readonly series: readonly Series[];
}

const panelWidth = 560;
const panelHeight = 220;
const columns = 2;
const plot = { left: 56, top: 36, width: panelWidth - 76, height: 120 };
const colours = ['#326ce5', '#e5732f', '#3a9d5d', '#b83280', '#8a6d00', '#6b46c1', '#0e8a9e', '#c53030'];

/** Panels in two columns, each with the same time on its x axis. A line ends where no value follows after `stepSeconds`. */
export function dashboardSvg(
  title: string,
  panels: readonly Panel[],
  fromSeconds: number,
  toSeconds: number,
  stepSeconds: number,
): string {
  const height = 48 + Math.ceil(panels.length / columns) * panelHeight;
  const width = columns * panelWidth;
  const drawn = panels.map((panel, i) => {
    const x = (i % columns) * panelWidth;
    const y = 48 + Math.floor(i / columns) * panelHeight;
    return `<g transform="translate(${x} ${y})">${panelSvg(panel, fromSeconds, toSeconds, stepSeconds)}</g>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11" fill="#333">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<text x="16" y="30" font-size="17">${escape(title)}</text>`,
    ...drawn,
    '</svg>\n',
  ].join('\n');
}

function panelSvg({ title, unit, series }: Panel, fromSeconds: number, toSeconds: number, stepSeconds: number): string {
  const most = Math.max(...series.flatMap(({ points }) => points.map(([, value]) => value)), 0) || 1;
  const x = (seconds: number): string =>
    (plot.left + ((seconds - fromSeconds) / (toSeconds - fromSeconds)) * plot.width).toFixed(1);
  const y = (value: number): string => (plot.top + plot.height - (value / most) * plot.height).toFixed(1);
  const grid = [0, 0.5, 1].map((part) => {
    const top = y(part * most);
    return `<line x1="${plot.left}" x2="${plot.left + plot.width}" y1="${top}" y2="${top}" stroke="#ddd"/><text x="${plot.left - 6}" y="${Number(top) + 4}" text-anchor="end">${label(part * most, unit)}</text>`;
  });
  const minutes = [0, 15, 30, 45, 60].map(
    (at) =>
      `<text x="${x(fromSeconds + at * 60)}" y="${plot.top + plot.height + 15}" text-anchor="middle">${at} min</text>`,
  );
  const lines = series.flatMap(({ points }, i) =>
    unbroken(points, stepSeconds).map((part) => {
      const path = part.map(([seconds, value]) => `${x(seconds)},${y(value)}`).join(' ');
      return `<polyline fill="none" stroke="${colours[i % colours.length]}" stroke-width="1.5" points="${path}"/>`;
    }),
  );
  return [
    `<text x="16" y="20" font-size="13" font-weight="bold">${escape(title)}</text>`,
    ...grid,
    ...minutes,
    ...lines,
    legend(series.map(({ name }) => name)),
  ].join('\n');
}

function unbroken(points: Series['points'], stepSeconds: number): Series['points'][] {
  const parts: (readonly [number, number])[][] = [];
  for (const [i, point] of points.entries()) {
    const previous = points[i - 1];
    if (previous === undefined || point[0] - previous[0] > stepSeconds) parts.push([]);
    parts.at(-1)!.push(point);
  }
  return parts;
}

/** Names under the plot, in two rows. */
function legend(names: readonly string[]): string {
  const perRow = 4;
  return names
    .slice(0, 2 * perRow)
    .map((name, i) => {
      const left = 16 + (i % perRow) * ((panelWidth - 32) / perRow);
      const top = plot.top + plot.height + 34 + Math.floor(i / perRow) * 16;
      return `<rect x="${left}" y="${top - 8}" width="10" height="3" fill="${colours[i % colours.length]}"/><text x="${left + 14}" y="${top - 3}">${escape(name)}</text>`;
    })
    .join('');
}

function label(value: number, unit: string): string {
  return `${Number(value.toPrecision(2)).toLocaleString('en-US')}${unit === 's' ? ' s' : ''}`;
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
