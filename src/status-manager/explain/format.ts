import { timeFromEpochMs } from '../../shared/time.ts';

/** `12:03:02Z` today, else `2026-01-02 12:03:02Z`. @param time RFC 3339 in UTC */
export function formatTime(time: string, nowMs: number): string {
  const [date, clock] = time.split('T') as [string, string];
  return timeFromEpochMs(nowMs).startsWith(date) ? clock : `${date} ${clock}`;
}

/** `41 s`, `3 min`, `2 h 5 min`, `3 d`; never negative. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours >= 48) return `${Math.floor(hours / 24)} d`;
  return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
}

const maxTextLength = 300;

/** Foreign text on one line, truncated for a sentence. */
export function formatText(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > maxTextLength ? `${line.slice(0, maxTextLength)}…` : line;
}
