import type { LoggedLine, RecordingLogger } from '../../src/testing/recording-logger.ts';

/** What an operator sees at level info, without the line that a manager logs at its start. */
export function linesAtInfo({ lines }: Pick<RecordingLogger, 'lines'>): LoggedLine[] {
  return lines.filter(
    ({ level, message }) =>
      level !== 'debug' && level !== 'trace' && message !== 'Starting to sync pod status with apiserver',
  );
}

/** Good news, for example that a failure has ended. */
export function goodNews(logger: Pick<RecordingLogger, 'lines'>): LoggedLine[] {
  return linesAtInfo(logger).filter(({ level }) => level === 'info');
}
