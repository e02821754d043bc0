export * from './instance-list';
export * from './job-details';
export * from './job-list';
export * from './recurring-list';
export * from './statistics';
