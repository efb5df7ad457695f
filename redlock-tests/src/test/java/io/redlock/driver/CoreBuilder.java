package io.redlock.driver;

import io.redlock.spi.LockNode;
import java.util.List;

/** A look at what a builder was given. */
public final class CoreBuilder {

  private CoreBuilder() {}

  public static List<LockNode> nodes(RedlockBuilder builder) {
    return builder.nodes;
  }
}
