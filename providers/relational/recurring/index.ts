export * from './definitions';
export * from './fire';
