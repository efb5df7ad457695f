package io.redlock.spi;

import io.redlock.text.Brief;
import java.util.Objects;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The label of a client and the note of a request: who holds a lock and what for, for operators. An
 * owner id begins with both, each followed by a slash, so that the value of a lock key on any node
 * names the holder. The rest of the id is random and secret: with it, anybody could release the
 * lock.
 */
public final class HolderLabel {

  /** The longest label, in characters. */
  public static final int MAX_LENGTH = 64;

  /** The longest note, in characters. */
  public static final int MAX_NOTE_LENGTH = 48;

  /** The value of a lock key while readers hold the name; no owner id may look like that. */
  public static final String SHARED = "shared/";

  /** A label that no client may have: a value that begins with it and a slash has no owner. */
  private static final String RESERVED = "freed";

  private static final String FREED = RESERVED + "/";

  private static final String READERS = "readers";

  private static final Pattern LABEL = Pattern.compile("[!-.0-~]{1," + MAX_LENGTH + "}");

  /** A note, with blanks; in an owner id underscores stand for them. */
  private static final Pattern NOTE = Pattern.compile("[ -.0-~]{1," + MAX_NOTE_LENGTH + "}");

  private static final Pattern OWNER =
      Pattern.compile(
          ("(?:(" + LABEL.pattern() + ")?/(?:(" + NOTE.pattern() + ")/)?)?")
              + "[0-9a-f]{32}(?:-[0-9]+)?(?::[0-9]+)?(?:@[0-9]+)?");

  private static final Pattern VALUE = Pattern.compile("(.*)@([1-9][0-9]{0,15})");

  private HolderLabel() {}

  /**
   * Returns the problem of a label, with its fix; empty if it is valid: 1 to 64 printable ASCII
   * characters, neither blanks nor slashes, and not one of the reserved labels {@code freed} and
   * {@code shared}.
   */
  public static Optional<String> problem(String label) {
    if (SHARED.equals(label + "/")) {
      return Optional.of("holder \"" + label + "\" is reserved for readers: choose another");
    }
    if (label.equals(RESERVED)) {
      return Optional.of(
          "holder \"" + label + "\" is reserved for resources that are set free: choose another");
    }
    if (LABEL.matcher(label).matches()) {
      return Optional.empty();
    }
    return Optional.of(
        "holder \""
            + Brief.text(label)
            + "\" is "
            + (label.isBlank() ? "blank" : "no label")
            + ": use 1 to "
            + MAX_LENGTH
            + " printable ASCII characters, neither blanks nor slashes");
  }

  /**
   * Returns the problem of a note, with its fix; empty if it is valid: 1 to 48 printable ASCII
   * characters without slashes, not only blanks.
   */
  public static Optional<String> problemOfNote(String note) {
    return NOTE.matcher(note).matches() && !note.isBlank()
        ? Optional.empty()
        : Optional.of(
            "note \""
                + Brief.text(note)
                + "\" cannot be stored: use 1 to "
                + MAX_NOTE_LENGTH
                + " printable ASCII characters, no slashes");
  }

  /**
   * Returns the owner id of a request.
   *
   * @param label the label of its client; empty if that has none
   * @param note its note; empty if it has none
   * @param random what no other owner id has
   */
  public static String ownerId(String label, String note, String random) {
    if (note.isEmpty()) {
      return label.isEmpty() ? random : label + "/" + random;
    }
    return label + "/" + note.replace(' ', '_') + "/" + random;
  }

  /** Returns the value of a lock key that an operator with this label has set free. */
  public static String freed(String label) {
    return FREED + label;
  }

  /** Returns true if the lock key of this value was set free; no owner id may look like that. */
  public static boolean isFreed(String value) {
    return value.startsWith(FREED);
  }

  /** Returns true if readers hold the name whose lock key has this value. */
  public static boolean isShared(String value) {
    return value.equals(SHARED); // S1
  }

  /** Returns true if this result of {@link #of} tells that a resource was set free. */
  public static boolean tellsFreed(String label) {
    return label.equals(RESERVED) || label.startsWith(RESERVED + " ");
  }

  /**
   * Returns the label in an owner id, in the value of a lock key, or in the name of a waiter.
   *
   * @param ownerId an owner id, or the value of a lock key, perhaps of another Redlock client
   * @return the label, then the note in brackets, for example {@code billing@pod-7 (nightly
   *     report)}; {@code freed by} and the label of an operator who set the resource free; {@code
   *     readers} if readers hold it; empty if the id has neither
   */
  public static String of(String ownerId) {
    if (isFreed(ownerId)) {
      String operator = ownerId.substring(FREED.length());
      return LABEL.matcher(operator).matches() ? RESERVED + " by " + operator : RESERVED;
    }
    if (isShared(ownerId)) {
      return READERS;
    }
    Matcher matcher = OWNER.matcher(ownerId);
    if (!matcher.matches()) {
      return "";
    }
    String label = Objects.requireNonNullElse(matcher.group(1), "");
    String note = matcher.group(2);
    return note == null ? label : (label + " (" + note.replace('_', ' ') + ")").strip();
  }

  /**
   * Returns the value of the lock keys that an owner is granted at a token. So each node that holds
   * the name knows the token of its holder, whatever its counter is.
   */
  public static String value(String ownerId, long token) {
    return ownerId + "@" + token;
  }

  /** Returns the owner id in the value of a lock key: the value itself if it names no token. */
  public static String owner(String value) {
    Matcher matcher = VALUE.matcher(value);
    return !isFreed(value) && matcher.matches() ? matcher.group(1) : value;
  }

  /** Returns the fencing token in the value of a lock key; zero if it names none. */
  public static long token(String value) {
    Matcher matcher = VALUE.matcher(value);
    return !isFreed(value) && matcher.matches() ? Long.parseLong(matcher.group(2)) : 0; // X4
  }

  /** Returns {@code by} and the label in an owner id; empty if the id has none. */
  static String by(String ownerId) {
    String label = of(ownerId);
    return label.isEmpty() ? "" : " by " + label;
  }

  /** Returns true if a client of this library writes such ids, with or without a label. */
  public static boolean isOurs(String ownerId) {
    return OWNER.matcher(ownerId).matches();
  }
}
