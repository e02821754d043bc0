export { DashboardNotAuthorizedError } from './dashboard.errors';
export { MillraceDashboardModule } from './dashboard.module';
export type { MillraceDashboardOptions } from './dashboard.options';
