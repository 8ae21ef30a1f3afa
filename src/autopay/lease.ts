/** How long a reservation is left alone by other processes: its call may be at work yet. */
export const LEASE_MS = 15 * 60_000;

/** How long a call may take from its reservation to its signed payment: what is left of the lease covers the clocks of two machines. */
export const CALL_LIMIT_MS = 12 * 60_000;
