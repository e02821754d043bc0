export * from './expire';
export * from './signal';
export * from './store';
