import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';

const root = join(__dirname, '..', '..');
const pages = ['README.md', ...readdirSync(join(root, 'docs')).map((file) => `docs/${file}`)].filter((file) =>
  file.endsWith('.md'),
);

/** What a block that imports nothing itself may use without saying where it comes from. */
const IMPORTS = `
  import { Injectable, Module } from '@nestjs/common';
  import {
    Activity, ActivityContext, CompensationRecovery, IActivity, IJobClient, inMemoryStorage, IWorkflow, IWorkflowBuilder,
    IWorkflowClient, Job, JobBatch, JobContext, JobCtx, JobTarget, MillraceModule, NestedSagaPolicy, Retry, RetryAfterError,
    SnoozeError, StepFailurePolicy, StepRecovery, UnrecoverableJobError, Workflow,
  } from 'nestjs-millrace';
  import { sqlServerStorage } from 'nestjs-millrace/mssql';
  import { postgresStorage } from 'nestjs-millrace/postgres';
  import { sqliteStorage } from 'nestjs-millrace/sqlite';
  import { MillraceTestHost } from 'nestjs-millrace/testing';
  import type { DataSource } from 'typeorm';
`;

const STEPS = [
  'ValidateOrder',
  'ChargeCard',
  'RequireApproval',
  'ApproveAutomatically',
  'ReserveStock',
  'NotifyWarehouse',
  'ShipItem',
  'AskForReview',
  'CreateAccount',
  'SendWelcome',
  'ReserveInventory',
  'ReleaseInventory',
  'RefundCard',
  'BookCourier',
  'CancelCourier',
  'NotifyCustomer',
  'BookHotel',
  'CancelHotel',
  'PayDeposit',
  'RefundDeposit',
  'IssueTicket',
  'VoidTicket',
  'ConfirmTrip',
];

/** The application that the pages speak of; a block that declares one of these names itself shadows it. */
const APPLICATION = `
  declare const jobs: import('nestjs-millrace').IJobClient;
  declare const orderId: string;
  declare const dataSource: { transaction(work: (manager: import('typeorm').EntityManager) => Promise<void>): Promise<void> };
  declare const bank: { capture(id: string, options: { idempotencyKey: string }): Promise<void> };
  declare const mail: { sendInvoice(orderId: string): Promise<void> };
  declare const invoices: { wasSent(orderId: string): Promise<boolean>; markSent(orderId: string): Promise<void> };
  declare const orders: { update(id: string, fields: { status: string }): Promise<void> };
  declare const createHarness: import('nestjs-millrace/conformance').CreateHarness;
  declare function getDataSourceToken(): string;
  declare const workflows: import('nestjs-millrace').IWorkflowClient;
  declare const id: string;
  declare const data: { customerId: string; needsApproval: boolean; approved: boolean };
  interface OrderData { total: number; items: string[] }
  declare const flow: import('nestjs-millrace').IWorkflowBuilder<OrderData>;
  declare const saga: import('nestjs-millrace').ISagaBuilder<OrderData>;
  interface ApprovalDecision { isApproved: boolean }
  declare class Accounts { create(customerId: string, signal: AbortSignal): Promise<void> }
  declare class Step { execute(): Promise<void> }
  declare class EmailSender { sendConfirmation(orderId: string): Promise<void> }
  declare class Payments { capture(orderId: string): Promise<void> }
  declare class Reports { write(name: string): Promise<void> }
  ${STEPS.map((step) => `declare class ${step} extends Step {}`).join('\n  ')}
`;

const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.ESNext, // a block may await at its top level
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  experimentalDecorators: true,
  types: ['node', 'jest'],
};

/** The blocks by the file that each would be; one that begins with a file's name in a comment is that file. */
function blocksOf(page: string): Map<string, string> {
  const folder = join(root, 'docs', page.replace(/\W/g, '-'));
  const files = new Map<string, string>();
  const text = readFileSync(join(root, page), 'utf8');
  for (const [number, [, block = '']] of [...text.matchAll(/```ts\n(.*?)```/gs)].entries()) {
    const name = /^\/\/ (\S+\.ts)\n/.exec(block)?.[1] ?? `block-${number + 1}.ts`;
    const imports = /^import /m.test(block) ? '' : IMPORTS.replaceAll('\n', ' ');
    files.set(join(folder, name), `${imports}${block}\nexport {};`);
  }
  return files;
}

function complaints(files: ReadonlyMap<string, string>): string[] {
  const application = join(root, 'docs', 'application.d.ts');
  const sources = new Map([...files, [application, APPLICATION]]);
  const host = ts.createCompilerHost(OPTIONS);
  host.fileExists = (file) => sources.has(file) || ts.sys.fileExists(file);
  const folders = new Set([...files.keys()].map((file) => dirname(file)));
  host.directoryExists = (folder) => folders.has(folder) || ts.sys.directoryExists(folder);
  host.readFile = (file) => sources.get(file) ?? ts.sys.readFile(file);
  host.getSourceFile = (file, target) => {
    const text = host.readFile(file);
    return text === undefined ? undefined : ts.createSourceFile(file, text, target);
  };
  const program = ts.createProgram([...sources.keys()], OPTIONS, host);
  return ts.getPreEmitDiagnostics(program).map(({ file, start = 0, messageText }) => {
    const line = file
      ? `${file.fileName.slice(root.length)}:${file.getLineAndCharacterOfPosition(start).line + 1} `
      : '';
    return line + ts.flattenDiagnosticMessageText(messageText, '\n');
  });
}

function anchorsOf(page: string): string[] {
  const headings = readFileSync(join(root, page), 'utf8').matchAll(/^#+ (.*)$/gm);
  return [...headings].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

describe('Code blocks of the documentation', () => {
  it('compile against the package that ships', () => {
    const files = new Map(pages.flatMap((page) => [...blocksOf(page)]));

    expect(files.size).toBeGreaterThan(20);
    expect(complaints(files)).toEqual([]);
  }, 60_000);

  it('stand in pages whose links lead somewhere', () => {
    const broken: string[] = [];
    for (const page of [...pages, 'CONTRIBUTING.md', 'CHANGELOG.md']) {
      for (const [, link = ''] of readFileSync(join(root, page), 'utf8').matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^https?:/.test(link)) continue;
        const [path = '', anchor] = link.split('#');
        const target = path === '' ? page : join(page, '..', path);
        const exists = ts.sys.fileExists(join(root, target)) || ts.sys.directoryExists(join(root, target));
        if (!exists || (anchor && !anchorsOf(target).includes(anchor))) broken.push(`${page}: ${link}`);
      }
    }

    expect(broken).toEqual([]);
  });
});
