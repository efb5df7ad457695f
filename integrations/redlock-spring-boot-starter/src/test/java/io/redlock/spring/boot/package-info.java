@NullMarked
package io.redlock.spring.boot;

import org.jspecify.annotations.NullMarked;
