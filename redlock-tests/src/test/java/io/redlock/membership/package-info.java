/** Which nodes a client relies on: audits, resets, errors, and the programs an operator runs. */
package io.redlock.membership;
