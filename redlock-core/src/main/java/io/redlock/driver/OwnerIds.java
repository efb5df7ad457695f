package io.redlock.driver;

import io.redlock.spi.HolderLabel;
import java.util.function.Supplier;

/** A source of owner ids that begin with the label of the client, which is empty if it has none. */
record OwnerIds(String label, Supplier<String> source) {

  /** Returns the value of a key that this client sets free for an operator. */
  String freed() {
    return HolderLabel.freed(label);
  }

  /** Returns an id that says what the lease is for, unless the note is empty. */
  String get(String note) {
    return HolderLabel.ownerId(label, note, source.get()); // A1
  }
}
