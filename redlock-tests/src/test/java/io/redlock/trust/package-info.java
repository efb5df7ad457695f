/** Which nodes a client relies on: audits, resets, errors, and the programs an operator runs. */
@NullMarked
package io.redlock.trust;

import org.jspecify.annotations.NullMarked;
