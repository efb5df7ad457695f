package io.redlock.driver;

import io.redlock.spi.HolderLabel;
import java.util.function.Supplier;

/**
 * A source of owner ids that begin with the label of the client. Throws if the source of their
 * other part returns null or a blank text.
 *
 * @param label that of the client; empty if it has none
 */
record OwnerIds(String label, Supplier<String> source) {

  /** Returns the value of a key that this client sets free for an operator. */
  String freed() {
    return HolderLabel.freed(label);
  }

  /** Returns an id that says what the lease is for, unless the note is empty. */
  String get(String note) {
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
    String owner = HolderLabel.ownerId(label, note, id); // A1
    if (HolderLabel.isFreed(owner)) {
      throw new IllegalStateException(
          "the supplier of owner ids returned "
              + id
              + ", which looks like a resource that was set free: return another id");
    }
    return owner;
  }
}
