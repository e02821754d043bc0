// The only place that knows columns and records at once.
export * from './attempt.row';
export * from './bookmark.row';
export * from './definition.row';
export * from './instance.row';
export * from './job-groups';
export * from './job.row';
export * from './keys';
export * from './node.row';
export * from './recurring.row';
export { epoch, optionalEpoch } from './values';
