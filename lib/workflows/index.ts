import type { Provider } from '@nestjs/common';
import { IWorkflowSteps } from '../worker/workflow-steps';
import { ActivityRegistry } from './activity-registry';
import { DefinitionRegistration } from './definition-registration';
import { InstanceMoves } from './steps/instance-moves';
import { StepRecords } from './steps/step-records';
import { WorkflowSteps } from './steps/workflow-steps.service';
import { WorkflowClient } from './workflow-client';
import { IWorkflowClient } from './workflow-client.interface';
import { WorkflowExplorer } from './workflow-explorer';
import { WorkflowRegistry } from './workflow-registry';

export const workflowProviders: Provider[] = [
  ActivityRegistry,
  WorkflowRegistry,
  WorkflowExplorer,
  DefinitionRegistration,
  StepRecords,
  InstanceMoves,
  { provide: IWorkflowSteps, useClass: WorkflowSteps },
  { provide: IWorkflowClient, useClass: WorkflowClient },
];
