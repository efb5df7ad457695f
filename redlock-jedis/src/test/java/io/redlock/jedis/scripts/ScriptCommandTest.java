package io.redlock.jedis.scripts;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.args.Rawable;

/** The command that a connection uses for one script call after the other. */
class ScriptCommandTest {

  private static final List<Argument> GUARD = List.of(Argument.of("birth"), Argument.of("|3|"));
  private static final Argument TOKEN = Argument.of("17");

  private final ScriptCommand command = new ScriptCommand();

  private static Invocation call(Script script, String... arguments) {
    return new Invocation(
        script,
        null,
        Argument.EMPTY,
        TOKEN,
        Stream.of(arguments).map(Argument::of).toArray(Argument[]::new));
  }

  private static String text(Rawable word) {
    return new String(word.getRaw(), StandardCharsets.UTF_8);
  }

  /** Returns the words after the script, as the iterator and as the positions give them. */
  private static List<String> arguments(ScriptCommand said) {
    List<String> words = new ArrayList<>();
    for (Rawable word : said) {
      assertSame(word, said.get(words.size()));
      words.add(text(word));
    }
    assertEquals(words.size(), said.size());
    return words.subList(2, words.size());
  }

  @Test
  void oneCommandSaysCallsOfEveryLengthInTurn() {
    assertEquals(
        List.of("1", "a", "birth", "|3|"),
        arguments(command.bySha(call(Script.EXTEND, "1", "a"), GUARD)));
    assertEquals(List.of("9"), arguments(command.bySha(call(Script.RELEASE, "9"), GUARD)));
    assertEquals(
        List.of("1", "b", "c", "birth"),
        arguments(command.byText(call(Script.INSPECT, "1", "b", "c"), GUARD)));
    assertEquals(List.of("9"), arguments(command.byText(call(Script.RELEASE, "9"), GUARD)));
  }

  @Test
  void scriptIsNamedByItsDigestOrCarried() {
    command.bySha(call(Script.GRANT), GUARD);
    assertSame(Protocol.Command.EVALSHA, command.getCommand());
    assertSame(Protocol.Command.EVALSHA, command.get(0));
    assertSame(Script.GRANT.sha, command.get(1));
    command.byText(call(Script.RELEASE), GUARD);
    assertSame(Protocol.Command.EVAL, command.getCommand());
    assertSame(Protocol.Command.EVAL, command.get(0));
    assertSame(Script.RELEASE.text, command.get(1));
  }

  @Test
  void wordsEnd() {
    Iterator<Rawable> words = command.bySha(call(Script.RELEASE), GUARD).iterator();
    words.next();
    words.next();
    assertFalse(words.hasNext());
    assertThrows(NoSuchElementException.class, words::next);
  }
}
