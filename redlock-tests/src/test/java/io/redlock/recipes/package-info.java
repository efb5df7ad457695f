/**
 * What users do around a lease, in full and executed: the samples of the pages in {@code docs/}.
 */
@NullMarked
package io.redlock.recipes;

import org.jspecify.annotations.NullMarked;
