import { epochMsOf } from '../../shared/time.ts';

export type Cell = string | number;

export interface Column {
  readonly name: string;
  readonly type: 'string';
  readonly format: '' | 'name';
  readonly description: string;
  /** 0: always shown; 1: with `-o wide`. */
  readonly priority: 0 | 1;
}

export function column(name: string, description = '', priority: 0 | 1 = 0): Column {
  return { name, type: 'string', format: '', description, priority };
}

export const name: Column = { ...column('Name', "The object's name."), format: 'name' };

export const none = '<none>';

/** The time since `time`, or `<unknown>`. Source: `translateTimestampSince`. */
export function ageOf(time: string | null | undefined, nowMs: number): string {
  if (time === undefined || time === null || time === '') return '<unknown>';
  const ms = epochMsOf(time);
  return Number.isNaN(ms) ? '<unknown>' : humanDuration(nowMs - ms);
}

/** A duration in at most two units, fewer the longer it is. Source: `apimachinery/util/duration` `HumanDuration`. */
function humanDuration(ms: number): string {
  const seconds = Math.trunc(ms / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return twoUnits(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return twoUnits(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (days < 8) return twoUnits(days, 'd', hours % 24, 'h');
  if (days < 365 * 2) return `${days}d`;
  const years = Math.floor(days / 365);
  return years < 8 ? twoUnits(years, 'y', days % 365, 'd') : `${years}y`;
}

function twoUnits(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
}
