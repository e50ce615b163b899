/** The names of attributes and metrics: those of OpenTelemetry's semantic conventions for messaging, and our own. */

export const SYSTEM = 'messaging.system'
export const QUEUE = 'messaging.destination.name'
export const OPERATION = 'messaging.operation.name'
export const OPERATION_TYPE = 'messaging.operation.type'
export const MESSAGE_ID = 'messaging.message.id'
export const BATCH_SIZE = 'messaging.batch.message_count'
export const ERROR_TYPE = 'error.type'

export const JOB = 'highkiq.job.class'
export const ATTEMPT = 'highkiq.job.attempt'
export const OUTCOME = 'highkiq.job.outcome'

export const HIGHKIQ = 'highkiq'
/** Seconds: the limits that the conventions name, and longer ones. */
export const SECONDS = {
  unit: 's',
  advice: {
    explicitBucketBoundaries: [
      0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 300, 1800,
    ],
  },
}
