import type { NodeRecord } from '../../model/node';
import { BookmarkTable } from './bookmark-table';
import { Changes } from './changes';
import { DefinitionTable } from './definition-table';
import { InstanceTable } from './instance-table';
import { JobTable } from './job-table';
import { RecurringTable } from './recurring-table';

/** All that the store holds. What is written to it in one operation can be taken back through `changes`. */
export class Tables {
  readonly changes = new Changes();
  readonly jobs: JobTable = new JobTable(this.changes, (id) => this.instances.review(id));
  readonly instances: InstanceTable = new InstanceTable(this.changes, () => this.jobs);
  readonly definitions = new DefinitionTable(this.changes);
  readonly bookmarks = new BookmarkTable(this.changes);
  readonly recurring = new RecurringTable(this.changes, this.jobs);
  /** Whether it is paused, of every queue that was paused at least once. */
  readonly queues = new Map<string, boolean>();
  readonly nodes = new Map<string, NodeRecord>();
}
