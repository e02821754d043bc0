import { Injectable, Logger } from '@nestjs/common';
import type { HandlerSource } from '../jobs/job-registry';
import { DuplicateDefinitionError } from './workflow.errors';

/** An activity that this node can run. */
export interface RegisteredActivity {
  readonly type: object;
  readonly className: string;
  readonly source: HandlerSource;
  readonly moduleName: string;
  /** The provider's token is the class itself. */
  readonly ownToken: boolean;
}

/** The activities of this node by recorded name. Filled once, at startup. */
@Injectable()
export class ActivityRegistry {
  private readonly logger = new Logger('Millrace');
  private readonly activities = new Map<string, RegisteredActivity>();
  private readonly aliases = new Map<string, RegisteredActivity>();

  /** The activity of a recorded name or alias; undefined when this node has none. */
  get(name: string): RegisteredActivity | undefined {
    return this.activities.get(name) ?? this.aliases.get(name);
  }

  /**
   * Registers a name under which steps are recorded.
   *
   * @throws {DuplicateDefinitionError} another class has it
   */
  add(name: string, activity: RegisteredActivity): void {
    const existing = this.activities.get(name);
    if (existing === undefined) {
      this.activities.set(name, activity);
      return;
    }
    refuseOtherClass(name, existing, activity);
    if (existing.source === activity.source || existing.ownToken !== activity.ownToken) return;
    this.logger.warn(
      `The activity ${activity.className} is provided by ${existing.moduleName} and by ${activity.moduleName}: ` +
        `the one of ${existing.moduleName} runs.`,
    );
  }

  /**
   * Registers a name that is looked up at execution only. Call it after every {@link add}.
   *
   * @throws {DuplicateDefinitionError} another class has it, as a name or as an alias
   */
  addAlias(name: string, activity: RegisteredActivity): void {
    const existing = this.get(name);
    if (existing === undefined) this.aliases.set(name, activity);
    else refuseOtherClass(name, existing, activity);
  }
}

function refuseOtherClass(name: string, existing: RegisteredActivity, activity: RegisteredActivity): void {
  if (existing.type === activity.type) return;
  throw new DuplicateDefinitionError(
    `activities named "${name}"`,
    [existing.className, activity.className],
    [existing.moduleName, activity.moduleName],
    'Give one of them a name of its own, with @Activity({ name }).',
  );
}
