/** The jobs of the storm of unique jobs: each class keeps its lock in another way. */
export const FORMS = {
  UntilSuccess: 'until-success',
  UntilStart: 'until-start',
  Pending: 'pending',
  // Longer than clocks are stepped, so that no process ever sees the lock free.
  ForHours: '2h',
}
