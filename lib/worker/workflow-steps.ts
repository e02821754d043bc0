import type { JobExecution } from '../jobs/job-execution';
import type { Bookmark } from '../model/bookmark';
import type { ClaimedJob, JobRecord } from '../model/job';
import type { JobTransition } from '../model/job-transition';
import type { Advance } from '../model/workflow-instance';

/** Where workflows plug into the worker, which itself only knows that a job may belong to an instance. */
export abstract class IWorkflowSteps {
  /** Reads what the steps among these jobs need, in one call for all of them. Called once per claim, before any of them runs. */
  abstract load(jobs: readonly ClaimedJob[]): Promise<void>;

  /** What this node lacks to run a step, as a sentence for `lastError`; null when it lacks nothing. */
  abstract missing(job: ClaimedJob): string | null;

  /** Runs a step. What it throws is the step's failure, under the job's own retry policy. */
  abstract run(execution: JobExecution): Promise<void>;

  /**
   * How the instance moves on when a step ends: the `advance` of its transition, null when nothing moves. Called for
   * every transition of a workflow's job but its put-back, before it is applied.
   *
   * @param transition how the step ends; its `advance` is null
   */
  abstract advance(job: ClaimedJob, transition: JobTransition): Advance | null;

  /** The job that resumes an instance whose wait has passed its `expiresAt`. Pure: storage may call it again. */
  abstract resumeExpired(bookmark: Bookmark): JobRecord;
}
