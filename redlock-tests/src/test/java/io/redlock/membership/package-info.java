/** Which nodes a client relies on: audits, resets, errors, and the programs an operator runs. */
@NullMarked
package io.redlock.membership;

import org.jspecify.annotations.NullMarked;
