/** The states of a manager; `SyncLoop` says what happens in each. */
export type ManagerState = 'created' | 'running' | 'stopping' | 'stopped';
