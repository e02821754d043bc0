import type { Column, Table } from '../table';

const ID: Column = { type: 'id' };
const OPTIONAL_ID: Column = { type: 'id', nullable: true };
const FLAG: Column = { type: 'small', default: 0 };
const COUNT: Column = { type: 'int', default: 0 };
const INSTANT: Column = { type: 'big' };
const OPTIONAL_INSTANT: Column = { type: 'big', nullable: true };
const TEXT: Column = { type: 'text' };
const OPTIONAL_TEXT: Column = { type: 'text', nullable: true };
const NAME: Column = { type: 'text(128)' };
const LONG_NAME: Column = { type: 'text(256)' };
const optional = ({ type }: Column): Column => ({ type, nullable: true });

const INVOCATION = {
  handler: LONG_NAME,
  args: TEXT,
  arg_types: OPTIONAL_TEXT,
  retry_kind: { type: 'small' },
  retry_max_attempts: { type: 'int' },
  retry_base_delay: INSTANT,
  retry_max_delay: INSTANT,
  timeout_ms: OPTIONAL_INSTANT,
} as const satisfies Record<string, Column>;

/**
 * The schema of version 1. A format: never edited, later versions alter it.
 *
 * The states in the conditions of indexes are the numbers of JOB_STATE_CODES; they match only where statements
 * spell them so.
 */
export const INITIAL_TABLES = {
  jobs: {
    columns: {
      id: ID,
      created_at: INSTANT,
      ready_at: OPTIONAL_INSTANT,
      due_at: OPTIONAL_INSTANT,
      lease_until: OPTIONAL_INSTANT,
      finished_at: OPTIONAL_INSTANT,
      occurrence_at: OPTIONAL_INSTANT,
      parent_id: OPTIONAL_ID,
      requeued_from: OPTIONAL_ID,
      instance_id: OPTIONAL_ID,
      priority: COUNT,
      attempt: COUNT,
      failures: COUNT,
      releases: COUNT,
      interruptions: COUNT,
      state: { type: 'small' },
      cancel_requested: FLAG,
      closing: FLAG,
      has_continuations: FLAG,
      queue: NAME,
      ...INVOCATION,
      worker_id: optional(NAME),
      idempotency_key: { type: 'text(512)', nullable: true },
      active_key: { type: 'text(656)', nullable: true },
      tenant_id: optional(NAME),
      recurring_id: optional(LONG_NAME),
      trace_parent: optional(NAME),
      position: OPTIONAL_TEXT,
      scope: { type: 'text(800)', nullable: true },
      last_error: OPTIONAL_TEXT,
    },
    primaryKey: ['id'],
    indexes: [
      { name: 'ux_jobs_active_key', columns: 'active_key', unique: true, where: 'active_key is not null' },
      {
        name: 'ix_jobs_ready',
        columns: 'queue, priority desc, ready_at, id',
        where: 'state = 1 and interruptions < 2',
      },
      {
        name: 'ix_jobs_suspects',
        columns: 'queue, priority desc, ready_at, id',
        where: 'state = 1 and interruptions >= 2',
      },
      { name: 'ix_jobs_lease', columns: 'lease_until', where: 'state = 2' },
      { name: 'ix_jobs_due', columns: 'due_at, id', where: 'state in (0, 4)' },
      { name: 'ix_jobs_awaiting', columns: 'parent_id', where: 'state = 7' },
      { name: 'ix_jobs_recurring', columns: 'recurring_id, id desc', where: 'recurring_id is not null' },
      { name: 'ix_jobs_instance', columns: 'instance_id, scope', where: 'instance_id is not null' },
      {
        name: 'ix_jobs_finished',
        columns: 'state, finished_at',
        where: 'finished_at is not null and instance_id is null',
      },
      { name: 'ix_jobs_failed', columns: 'id desc', where: 'state = 4' },
      { name: 'ix_jobs_dead', columns: 'id desc', where: 'state = 5' },
      { name: 'ix_jobs_cancelled', columns: 'id desc', where: 'state = 6' },
    ],
    fillFactor: 70,
  },
  job_attempts: {
    columns: {
      job_id: ID,
      recorded_at: INSTANT,
      attempt: { type: 'int' },
      outcome: { type: 'small' },
      worker_id: optional(NAME),
      error: OPTIONAL_TEXT,
    },
    primaryKey: ['job_id', 'attempt'],
    indexes: [],
  },
  recurring_definitions: {
    columns: {
      id: LONG_NAME,
      cron: LONG_NAME,
      queue: NAME,
      priority: COUNT,
      ...INVOCATION,
      misfire: FLAG,
      tenant_id: optional(NAME),
      next_fire_time: OPTIONAL_INSTANT,
      last_fire_time: OPTIONAL_INSTANT,
      parked_reason: OPTIONAL_TEXT,
      created_at: INSTANT,
      updated_at: INSTANT,
    },
    primaryKey: ['id'],
    indexes: [{ name: 'ix_recurring_due', columns: 'next_fire_time, id' }],
  },
  workflow_definitions: {
    columns: {
      definition_key: { type: 'text(144)' },
      id: NAME,
      version: { type: 'int' },
      shape_hash: NAME,
      graph: TEXT,
      registered_at: INSTANT,
    },
    primaryKey: ['definition_key'],
    indexes: [],
  },
  workflow_instances: {
    columns: {
      id: ID,
      definition_id: NAME,
      definition_version: { type: 'int' },
      state: { type: 'small' },
      data: TEXT,
      data_types: OPTIONAL_TEXT,
      cursor_json: TEXT,
      revision: { type: 'big' },
      tenant_id: optional(NAME),
      start_key: { type: 'text(512)', nullable: true },
      active_start_key: { type: 'text(800)', nullable: true },
      shape_hash: NAME,
      suspended_reason: OPTIONAL_TEXT,
      failure: OPTIONAL_TEXT,
      last_decision_id: OPTIONAL_ID,
      created_at: INSTANT,
      updated_at: INSTANT,
      finished_at: OPTIONAL_INSTANT,
    },
    primaryKey: ['id'],
    indexes: [
      {
        name: 'ux_instances_active_start_key',
        columns: 'active_start_key',
        unique: true,
        where: 'active_start_key is not null',
      },
      { name: 'ix_instances_definition', columns: 'definition_id, definition_version, id desc' },
      { name: 'ix_instances_open', columns: 'state, id desc', where: 'state in (0, 1)' },
      { name: 'ix_instances_finished', columns: 'state, finished_at', where: 'finished_at is not null' },
    ],
    fillFactor: 70,
  },
  bookmarks: {
    columns: {
      id: ID,
      instance_id: ID,
      created_at: INSTANT,
      expires_at: OPTIONAL_INSTANT,
      tenant_id: optional(NAME),
      signal_name: NAME,
      correlation_id: { type: 'text(512)' },
      position: TEXT,
      scope: { type: 'text(800)' },
    },
    primaryKey: ['id'],
    indexes: [
      { name: 'ix_bookmarks_signal', columns: 'signal_name, correlation_id, created_at, id' },
      { name: 'ix_bookmarks_instance', columns: 'instance_id' },
      { name: 'ix_bookmarks_expiry', columns: 'expires_at, id', where: 'expires_at is not null' },
    ],
  },
  queues: {
    columns: { name: NAME, paused: FLAG },
    primaryKey: ['name'],
    indexes: [],
  },
  nodes: {
    columns: {
      id: NAME,
      host: LONG_NAME,
      queues: TEXT,
      max_parallelism: { type: 'int' },
      running: { type: 'int' },
      version: NAME,
      started_at: INSTANT,
      heartbeat_at: INSTANT,
    },
    primaryKey: ['id'],
    indexes: [{ name: 'ix_nodes_heartbeat', columns: 'heartbeat_at' }],
  },
  /** One row: which schema this is, which code can work on it, and which store it is. */
  ledger: {
    columns: {
      id: { type: 'small' },
      version: { type: 'int' },
      min_code_version: { type: 'int' },
      store_id: ID,
      updated_at: INSTANT,
    },
    primaryKey: ['id'],
    indexes: [],
  },
} as const satisfies Record<string, Table>;
