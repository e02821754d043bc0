import { refuseUnknownNames, unexpected } from '../model/checks';
import { checkedName } from '../model/names';
import type { DataType } from './workflow';

export interface WorkflowOptions {
  /** Stable: it is stored with every instance. Up to 128 characters. */
  id: string;
  /** From 1; higher whenever the shape of the graph changes. */
  version: number;
  /** Activities and conditions are given the document as an instance of this class. Default: a plain object. */
  data?: DataType;
}

export interface ActivityOptions {
  /** Pins the recorded name, against renames and minifiers. Default: the name of the class. */
  name?: string;
  /** Names under which this activity was recorded before. */
  aliases?: readonly string[];
}

/** What `@Activity` recorded of a class. */
export interface ActivityMetadata {
  readonly name: string | undefined;
  readonly aliases: readonly string[];
}

const WORKFLOW = 'millrace:workflow';
const ACTIVITY = 'millrace:activity';
const WORKFLOW_OPTIONS: ReadonlySet<string> = new Set(['id', 'version', 'data']);
const ACTIVITY_OPTIONS: ReadonlySet<string> = new Set(['name', 'aliases']);

/**
 * Marks a provider as a workflow definition; its `build` describes the graph.
 *
 * @throws {InvalidArgumentError} an option is unknown or wrong
 */
export function Workflow(options: WorkflowOptions): ClassDecorator {
  return (type) => {
    const place = `@Workflow of ${type.name}`;
    refuseUnknownNames(options, WORKFLOW_OPTIONS, place);
    const { id, version, data } = options;
    if (!Number.isSafeInteger(version) || version < 1) {
      throw unexpected(`version in ${place}`, 'a whole number of 1 or more', version);
    }
    if (data !== undefined && typeof data !== 'function') throw unexpected(`data in ${place}`, 'a class', data);
    Reflect.defineMetadata(WORKFLOW, { id: checkedName(id, 'workflow id'), version, data }, type);
  };
}

/**
 * Marks a provider as an activity: a step that workflows may be made of.
 *
 * @throws {InvalidArgumentError} an option is unknown or wrong
 */
export function Activity(options: ActivityOptions = {}): ClassDecorator {
  return (type) => {
    const place = `@Activity of ${type.name}`;
    refuseUnknownNames(options, ACTIVITY_OPTIONS, place);
    const { name, aliases = [] } = options;
    const metadata: ActivityMetadata = {
      name: name === undefined ? undefined : checkedName(name, 'job name'),
      aliases: aliases.map((alias) => checkedName(alias, 'job name')),
    };
    Reflect.defineMetadata(ACTIVITY, metadata, type);
  };
}

/** What `@Workflow` says of a class; undefined without one. */
export function workflowOptionsOf(type: object): WorkflowOptions | undefined {
  return Reflect.getOwnMetadata(WORKFLOW, type) as WorkflowOptions | undefined;
}

/** What `@Activity` says of a class, or of one that it extends, whose pinned names it does not inherit. */
export function activityOf(type: object): ActivityMetadata | undefined {
  const own = Reflect.getOwnMetadata(ACTIVITY, type) as ActivityMetadata | undefined;
  if (own !== undefined || !Reflect.hasMetadata(ACTIVITY, type)) return own;
  return { name: undefined, aliases: [] };
}
