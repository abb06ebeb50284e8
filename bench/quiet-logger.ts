import type { Logger } from 'kubelet-status-manager';

const ignore = (): void => {};

/** Lines of a log would mix with the lines of figures. */
export const quietLogger: Logger = { trace: ignore, debug: ignore, info: ignore, warn: ignore, error: ignore };
