import { MillraceError } from '../lib';

/** Thrown by `MillraceDashboardModule.forRoot` where anybody could reach the dashboard. The application does not start. */
export class DashboardNotAuthorizedError extends MillraceError {
  readonly code = 'MILLRACE_DASHBOARD_NOT_AUTHORIZED';

  constructor(readonly environment: string | undefined) {
    super(
      `The dashboard cannot authorize anyone yet, so it would be open to all, and NODE_ENV is ` +
        `${environment === undefined ? 'not set' : `"${environment}"`}. It starts under NODE_ENV=development or ` +
        `NODE_ENV=test only: set that, or leave MillraceDashboardModule out.`,
    );
  }
}
