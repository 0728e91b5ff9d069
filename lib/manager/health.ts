/** Health of one part. */
export interface HealthCheck {
  readonly name: string;
  readonly healthy: boolean;
  readonly message: string;
}
