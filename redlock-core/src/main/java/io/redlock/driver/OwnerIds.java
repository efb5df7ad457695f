package io.redlock.driver;

import io.redlock.spi.HolderLabel;
import java.util.function.Supplier;

/**
 * A source of owner ids that begin with the label of the client.
 *
 * @param label that of the client; empty if it has none
 * @param source their other part
 */
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
