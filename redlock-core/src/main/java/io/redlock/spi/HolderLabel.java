package io.redlock.spi;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The label of a client: who it is, for operators. An owner id begins with the label of its client
 * and a slash, so that the value of a lock key on any node names the holder. The rest of the id is
 * random and secret: with it, anybody could release the lock.
 */
public final class HolderLabel {

  /** The longest label, in characters. */
  public static final int MAX_LENGTH = 64;

  private static final Pattern LABEL = Pattern.compile("[!-.0-~]{1," + MAX_LENGTH + "}");

  private static final Pattern OWNER =
      Pattern.compile("(?:(" + LABEL.pattern() + ")/)?[0-9a-f]{32}(?:-[0-9]+)?(?::[0-9]+)?");

  private HolderLabel() {}

  /**
   * Returns the problem of a label, with its fix.
   *
   * @param label the label
   * @return the problem; empty if the label is valid: 1 to 64 printable ASCII characters, neither
   *     blanks nor slashes
   */
  public static Optional<String> problem(String label) {
    if (LABEL.matcher(label).matches()) {
      return Optional.empty();
    }
    return Optional.of(
        "holder \""
            + label
            + "\" is "
            + (label.isBlank() ? "blank" : "no label")
            + ": use 1 to "
            + MAX_LENGTH
            + " printable ASCII characters, neither blanks nor slashes");
  }

  /**
   * Returns the start of the owner ids of a client.
   *
   * @param label the client's label; empty if it has none
   * @return the label and a slash; empty if there is no label
   */
  public static String prefix(String label) {
    return label.isEmpty() ? "" : label + "/";
  }

  /**
   * Returns the label in an owner id, or in the name of a waiter.
   *
   * @param ownerId the value of a lock key, perhaps of another Redlock client
   * @return the label; empty if the id has none
   */
  public static String of(String ownerId) {
    Matcher matcher = OWNER.matcher(ownerId);
    return matcher.matches() && matcher.group(1) != null ? matcher.group(1) : "";
  }

  /**
   * Returns true if a client of this library writes such ids, with or without a label.
   *
   * @param ownerId the value of a lock key
   */
  public static boolean isOurs(String ownerId) {
    return OWNER.matcher(ownerId).matches();
  }
}
