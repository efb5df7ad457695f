/** Redlock clients of other languages and this one on the same masters and keys. */
@NullMarked
package io.redlock.interoperation;

import org.jspecify.annotations.NullMarked;
