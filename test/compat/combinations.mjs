/**
 * @typedef {object} Combination
 * @property {11 | 12} nest
 * @property {'express' | 'fastify'} http
 * @property {'cjs' | 'esm'} format
 * @property {'better-sqlite3' | 'sqlite3' | 'memory'} store
 * @property {number | null} node a major version from npm's `node` package; null for the Node that runs this
 */

/** Between them every supported version of everything, each with each that it could quarrel with. */
export const combinations = /** @type {readonly Combination[]} */ ([
  { nest: 12, http: 'express', format: 'cjs', store: 'better-sqlite3', node: null },
  { nest: 12, http: 'fastify', format: 'esm', store: 'better-sqlite3', node: null },
  { nest: 11, http: 'express', format: 'esm', store: 'sqlite3', node: null },
  { nest: 11, http: 'fastify', format: 'cjs', store: 'memory', node: null },
  { nest: 12, http: 'express', format: 'esm', store: 'better-sqlite3', node: 22 },
  { nest: 11, http: 'fastify', format: 'cjs', store: 'better-sqlite3', node: 22 },
  { nest: 12, http: 'fastify', format: 'cjs', store: 'better-sqlite3', node: 24 },
  { nest: 11, http: 'express', format: 'esm', store: 'better-sqlite3', node: 24 },
]);

/** @param {Combination} combination */
export function nameOf({ nest, http, format, store, node }) {
  return `Nest ${nest}, ${http}, ${format}, ${store}, Node ${node ?? process.versions.node}`;
}

/**
 * What an application of that combination depends on, beside the package itself.
 *
 * @param {Combination} combination
 * @returns {Record<string, string>}
 */
export function dependenciesOf({ nest, http, store }) {
  return {
    '@nestjs/common': `^${nest}.0.0`,
    '@nestjs/core': `^${nest}.0.0`,
    [`@nestjs/platform-${http}`]: `^${nest}.0.0`,
    'reflect-metadata': '^0.2.2',
    rxjs: '^7.8.2',
    ...(store === 'better-sqlite3' && { typeorm: '^1.1.1', 'better-sqlite3': '^12.11.1' }),
    ...(store === 'sqlite3' && { typeorm: '^0.3.28', sqlite3: '^5.1.7' }),
    typescript: '^6.0.3',
    ...(http === 'express' && { '@types/express': '^5.0.0' }),
    '@types/node': '^20.19.0',
  };
}
