package io.redlock.spi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.text.Brief;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HolderLabelTest {

  private static final String BITS = "0123456789abcdef0123456789abcdef";
  private static final long HIGHEST_TOKEN = 1L << 53;
  private static final int SCRIPTS_PRINT = 192; // as they say themselves

  @ParameterizedTest
  @ValueSource(strings = {"a", "billing@pod-7:4211", "!-.0~", "-2"})
  void labelIsFoundInEachOwnerIdOfItsClient(String label) {
    assertEquals(Optional.empty(), HolderLabel.problem(label));
    String id = HolderLabel.ownerId(label, "", BITS);
    assertEquals(label, HolderLabel.of(id));
    assertEquals(label, HolderLabel.of(id + "-12"));
    assertEquals(label, HolderLabel.of(id + ":7"), "the name of a waiter");
    String value = HolderLabel.value(id + "-12", 17);
    assertEquals(label, HolderLabel.of(value));
    assertEquals(id + "-12", HolderLabel.owner(value));
    assertEquals(17, HolderLabel.token(value));
  }

  @Test
  void noteIsShownBesideTheLabelOrAlone() {
    assertEquals("(nightly report)", noteIn("", "nightly report"));
    assertEquals("a (nightly report)", noteIn("a", "nightly report"));
    assertEquals("a (freed by b)", noteIn("a", "freed by b"));
    assertFalse(HolderLabel.tellsFreed(noteIn("", "freed by b")));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", " ", "a/b", "ü", "a\tb", "0123456789012345678901234567890123456789012345678"})
  void noteThatNoKeyCanHoldIsRefused(String note) {
    String problem = HolderLabel.problemOfNote(note).orElseThrow();
    assertTrue(problem.endsWith("use 1 to 48 printable ASCII characters, no slashes"), problem);
  }

  private static String noteIn(String label, String note) {
    assertEquals(Optional.empty(), HolderLabel.problemOfNote(note));
    return HolderLabel.of(HolderLabel.value(HolderLabel.ownerId(label, note, BITS + "-2"), 17));
  }

  @Test
  void scriptsPrintTheLongestValueWhole() {
    String label = "l".repeat(HolderLabel.MAX_LENGTH);
    String note = "n".repeat(HolderLabel.MAX_NOTE_LENGTH);
    String id = HolderLabel.ownerId(label, note, BITS + "-" + Long.MAX_VALUE);
    String value = HolderLabel.value(id, HIGHEST_TOKEN);
    assertTrue(value.length() <= SCRIPTS_PRINT, () -> value.length() + " characters");
    assertEquals(id, HolderLabel.owner(value));
  }

  @Test
  void labelOfAResourceThatWasSetFreeTellsByWhom() {
    assertEquals("freed by ops@host", HolderLabel.of(HolderLabel.freed("ops@host")));
    assertEquals("freed", HolderLabel.of(HolderLabel.freed("")));
    assertEquals("freed", HolderLabel.of("freed/somebody's secret value"));
    assertEquals("freed by ops@17", HolderLabel.of("freed/ops@17"));
    assertEquals(0, HolderLabel.token("freed/ops@17"));
    assertTrue(HolderLabel.tellsFreed("freed by ops@host"));
    assertTrue(HolderLabel.tellsFreed("freed"));
    assertFalse(HolderLabel.tellsFreed("freedom"));
    assertFalse(HolderLabel.tellsFreed(""));
  }

  @Test
  void noClientHasTheLabelOfAResourceThatWasSetFree() {
    String problem = HolderLabel.problem("freed").orElseThrow();
    assertTrue(problem.endsWith("is reserved for resources that are set free: choose another"));
    assertEquals(Optional.empty(), HolderLabel.problem("freedom"));
    assertFalse(HolderLabel.isFreed(HolderLabel.ownerId("freedom", "", BITS)));
    assertTrue(HolderLabel.isFreed(HolderLabel.ownerId("freed", "", BITS)));
  }

  @Test
  void noClientHasTheLabelOfReaders() {
    assertEquals(
        Optional.of("holder \"shared\" is reserved for readers: choose another"),
        HolderLabel.problem("shared"));
  }

  @Test
  void idWithoutALabelHasNone() {
    assertEquals(BITS, HolderLabel.ownerId("", "", BITS));
    assertEquals("", HolderLabel.of(BITS));
    assertEquals("", HolderLabel.of(BITS + "-2"));
    assertTrue(HolderLabel.isOurs(BITS) && HolderLabel.isOurs("a/" + BITS + "-2"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "-",
        "a/b",
        "secret/of another client",
        "a/0123456789abcdef0123456789abcdeg",
        "a b/0123456789abcdef0123456789abcdef",
        "a/b/c/0123456789abcdef0123456789abcdef",
        "a/0123456789abcdef0123456789abcdef0",
        "a/0123456789abcdef0123456789abcdef-",
        "ops@host",
        "ops@",
        "ops@007"
      })
  void valueOfAnotherClientHasNone(String value) {
    assertEquals("", HolderLabel.of(value));
    assertFalse(HolderLabel.isOurs(value));
    assertEquals(value, HolderLabel.owner(value));
    assertEquals(0, HolderLabel.token(value));
  }

  @Test
  void longestLabelIsFoundAndALongerOneRefused() {
    String longest = "x".repeat(HolderLabel.MAX_LENGTH);
    assertEquals(longest, HolderLabel.of(longest + "/" + BITS));
    assertEquals("", HolderLabel.of("x" + longest + "/" + BITS));
    assertTrue(HolderLabel.problem("x" + longest).isPresent());
  }

  @ParameterizedTest
  @ValueSource(strings = {"", " ", "a b", "a/b", "b\u00fcro", "a\n", "a\u007f"})
  void problemNamesTheValueAndTheFix(String label) {
    String problem = HolderLabel.problem(label).orElseThrow();
    assertTrue(problem.startsWith("holder \"" + Brief.text(label) + "\" is "), problem);
    assertTrue(
        problem.endsWith(": use 1 to 64 printable ASCII characters, neither blanks nor slashes"));
  }
}
