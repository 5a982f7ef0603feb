/** Time limits of the tests of backends. */

/** A factor for slow machines. */
const PATIENCE = Number(process.env["REEVE_TEST_PATIENCE"] ?? 1);
export const TEST_MS_MAX = 120_000 * PATIENCE;
export const CLOSE_MS_MAX = 60_000 * PATIENCE;
