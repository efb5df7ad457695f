package io.redlock.driver;

import java.util.function.Supplier;

/** A source of owner ids that throws instead of returning null or a blank id. */
record OwnerIds(Supplier<String> source) implements Supplier<String> {

  @Override
  public String get() {
    String id;
    try {
      id = source.get();
    } catch (RuntimeException | Error e) {
      throw new IllegalStateException("the supplier of owner ids failed", e);
    }
    if (id == null || id.isBlank()) {
      throw new IllegalStateException(
          "the supplier of owner ids returned " + id + ": return an id");
    }
    return id;
  }
}
