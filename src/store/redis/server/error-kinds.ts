/** Errors of a Redis server, by what helps. */

/** Errors that a repeated attempt does not change. */
export const REFUSED =
  /^(NOAUTH|WRONGPASS|ERR invalid password|ERR AUTH|NOPERM|ERR DB index|ERR invalid DB index|ERR This instance has cluster)/
/** The old master answers this after a failover, and the old node after its hash slot has moved: connect to the new one. */
export const MOVED = /^(READONLY|MOVED|CLUSTERDOWN)\b/
/** Errors of a command that was refused but may succeed when it is sent again later. */
export const TEMPORARY =
  /^(LOADING|BUSY|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|MOVED|ASK|NOREPLICAS|UNBLOCKED|MISCONF)\b/
