export * from './past-retention';
export * from './prune';
