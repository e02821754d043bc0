import { Inject, Injectable, Logger } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import type { InstanceWrapper } from '@nestjs/core/injector/instance-wrapper.js';
import { isMinified, isProduction } from '../jobs/job-explorer';
import { UnstableHandlerNameError } from '../jobs/job.errors';
import { aliased, classOf, isClass, type NamedClass, nameOf, prototypeOf, sourceOf } from '../jobs/provider-source';
import type { ActivityType } from './activity';
import { ActivityRegistry, type RegisteredActivity } from './activity-registry';
import { compileGraph } from './graph/graph-compiler';
import { shapeHash } from './graph/shape-hash';
import type { IWorkflow } from './workflow';
import { activityOf, workflowOptionsOf } from './workflow.decorators';
import { WorkflowDefinitionError } from './workflow.errors';
import { workflowKey, WorkflowRegistry } from './workflow-registry';

/** A provider, and the class of what it resolves to. */
interface FoundProvider {
  readonly wrapper: InstanceWrapper;
  readonly provider: InstanceWrapper;
  readonly type: NamedClass;
}

/** Finds the activities and workflow definitions among the providers of every module, and builds the graphs, once. */
@Injectable()
export class WorkflowExplorer {
  private readonly logger = new Logger('Millrace');

  constructor(
    @Inject(DiscoveryService) private readonly discovery: DiscoveryService,
    @Inject(ActivityRegistry) private readonly activities: ActivityRegistry,
    @Inject(WorkflowRegistry) private readonly workflows: WorkflowRegistry,
  ) {}

  /**
   * Fills both registries. Call it when all providers have been created.
   *
   * @throws {DuplicateDefinitionError} two classes have one activity name, or one workflow id and version
   * @throws {WorkflowDefinitionError} a graph cannot be built
   * @throws {UnstableHandlerNameError} in production, for an activity whose name a minifier has made
   */
  explore(): void {
    const wrappers = this.discovery.getProviders();
    const found = wrappers.flatMap((wrapper) => this.providerOf(wrapper, wrappers));
    const activities = found.filter(({ type }) => activityOf(type) !== undefined);
    for (const provider of activities) this.registerActivity(provider);
    for (const provider of activities) this.registerAliases(provider);
    this.checkNames(activities);
    for (const provider of found) this.registerWorkflow(provider);
  }

  private providerOf(wrapper: InstanceWrapper, all: readonly InstanceWrapper[]): FoundProvider[] {
    const provider = aliased(wrapper, all);
    const prototype = prototypeOf(provider);
    return prototype === undefined ? [] : [{ wrapper, provider, type: classOf(prototype) }];
  }

  private registerActivity(found: FoundProvider): void {
    const activity = registered(found);
    for (const target of targetsOf(found)) this.activities.add(activityNameOf(target), activity);
  }

  private registerAliases(found: FoundProvider): void {
    const activity = registered(found);
    for (const target of targetsOf(found)) {
      for (const alias of activityOf(target)?.aliases ?? []) this.activities.addAlias(alias, activity);
    }
  }

  private checkNames(activities: readonly FoundProvider[]): void {
    const unpinned = activities.flatMap(targetsOf).filter((target) => activityOf(target)?.name === undefined);
    const minified = [...new Set(unpinned.map(({ name }) => name).filter(isMinified))];
    if (minified.length === 0) return;
    const error = new UnstableHandlerNameError(
      `Activities would be recorded under names that a minifier made and the next build may give to another class: ` +
        `${minified.map((name) => name || '(no name)').join(', ')}. Pin them with @Activity({ name }).`,
    );
    if (isProduction()) throw error;
    this.logger.warn(error.message);
  }

  private registerWorkflow({ wrapper, provider, type }: FoundProvider): void {
    const options = workflowOptionsOf(type);
    if (options === undefined) return;
    const { id, version, data } = options;
    const source = sourceOf(provider);
    if (source.kind !== 'instance') {
      throw new WorkflowDefinitionError(
        `${nameOf(type)} is request-scoped or transient. A definition is built once, so it has to be a singleton.`,
        workflowKey(id, version),
        null,
      );
    }
    const definition = source.instance as IWorkflow<never>;
    const graph = compileGraph<never>({ id, version, build: (flow) => definition.build(flow) }, (activity) =>
      this.recordedName(activity),
    );
    this.workflows.add({
      id,
      version,
      graph,
      shapeHash: shapeHash(graph),
      data,
      type,
      className: nameOf(type),
      moduleName: wrapper.host?.name ?? 'an unknown module',
    });
  }

  /** Null where no provider stands behind the class. */
  private recordedName(type: ActivityType<never>): string | null {
    const name = activityNameOf(type);
    return this.activities.get(name) === undefined ? null : name;
  }
}

/** The name under which steps that name this class are recorded. */
function activityNameOf(type: NamedClass): string {
  return activityOf(type)?.name ?? type.name;
}

/** Classes that a graph may name: the provider's token, where it is one, and the class itself. */
function targetsOf({ wrapper, type }: FoundProvider): NamedClass[] {
  const token: unknown = wrapper.token;
  return isClass(token) && token !== type ? [token, type] : [type];
}

const registrations = new WeakMap<InstanceWrapper, RegisteredActivity>();

function registered({ wrapper, provider, type }: FoundProvider): RegisteredActivity {
  const known = registrations.get(wrapper);
  if (known !== undefined) return known;
  const activity: RegisteredActivity = {
    type,
    className: nameOf(type),
    source: sourceOf(provider),
    moduleName: wrapper.host?.name ?? 'an unknown module',
    ownToken: wrapper.token === type,
  };
  registrations.set(wrapper, activity);
  return activity;
}
