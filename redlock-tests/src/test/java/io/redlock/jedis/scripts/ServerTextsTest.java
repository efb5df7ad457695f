package io.redlock.jedis.scripts;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.redlock.scenes.Scenes;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RequiresRedis;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisDataException;

/**
 * The classes of errors that production recognises: how a server is brought to give one, what is
 * made of it whatever the server, and what each server and version said that it was recorded from.
 * One that is not recorded is understood all the same; what it says is printed.
 */
@RequiresRedis
@Tag("servers")
@Tag("server-version")
class ServerTextsTest {

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Scenes.of("jedis/scripts/ServerTexts.txt", Provocation::new);
  }

  /** A server with an operator, who may do anything, and a user with few rights. */
  private static final class Provocation extends Scenes.Teller {

    private static final Pattern FIX = Pattern.compile("(?:allow \\S+) .*with ACL SETUSER");
    private static final Pattern CODE = Pattern.compile("([A-Z]{4,}) .*");

    private RedisServer server = RedisServer.start("--rename-command", "SUBSTR", "");
    private Connection operator = server.connect();
    private Connection other = operator;
    private final String name = server.nameAndVersion();
    private String said = "";
    private boolean isRecorded;

    @Override
    public void close() {
      if (!said.isEmpty() && !isRecorded) {
        System.out.println("not recorded: said " + name + ": " + said);
      }
      other.close();
      operator.close();
      server.close();
    }

    @Override
    protected void perform(String command, String rest) throws IOException {
      switch (command) {
        case "cluster" -> {
          close();
          server = RedisServer.start("--cluster-enabled", "yes");
          operator = server.connect();
          other = operator;
        }
        case "log-in" -> {
          order("ACL SETUSER app on >geheim ~mine +@all -set -evalsha resetchannels");
          other = server.connect();
          RedisServer.command(other, "AUTH", "app", "geheim");
        }
        case "stranger" -> other = RedisServer.connect(server.port());
        case "fail-to-save" -> {
          Files.createDirectory(server.folder().resolve("dump.rdb"));
          order("BGSAVE");
          Await.until("it fails", () -> !server.serves("SET", "key", "value"));
        }
        case "loop" -> {
          Connection busy = server.connect();
          busy.sendCommand(Protocol.Command.EVAL, "while true do end", "0");
          busy.getMany(0); // flushes
          Await.until("it is busy", () -> !server.serves("PING"));
        }
        case "do" -> order(rest);
        case "fail" -> {
          said = failure(rest);
          tell(meaning(said));
        }
        case "said" -> compare(rest.split(": ", 2));
        default -> throw new IllegalArgumentException("no such command");
      }
    }

    private void order(String words) {
      RedisServer.command(operator, words(words));
    }

    private static String[] words(String words) {
      return Stream.of(words.split(" ")).map(it -> it.replace('_', ' ')).toArray(String[]::new);
    }

    private String failure(String words) {
      return assertThrows(JedisDataException.class, () -> RedisServer.command(other, words(words)))
          .getMessage()
          .strip();
    }

    /** What was recorded means the same; and if it is from this server, it says so still. */
    private void compare(String[] record) {
      if (List.of(record[0].split(", ")).contains(name)) {
        assertEquals(record[1], said, () -> "said by " + name);
        isRecorded = true;
      }
      assertEquals(meaning(said), meaning(record[1]), () -> "said by " + record[0]);
    }

    /** What does not depend on the server. */
    private static String meaning(String text) {
      NodeReply reply = ReplyMapper.error(new JedisDataException(text));
      if (reply.kind() == Kind.UNKNOWN) {
        assertEquals(text.replaceFirst("\\.$", ""), reply.detail(), "it is shown whole");
        return "UNKNOWN";
      }
      Matcher fix = FIX.matcher(reply.detail());
      String detail = fix.find() ? fix.group() : CODE.matcher(reply.detail()).replaceFirst("$1 …");
      return reply.kind() + " " + detail;
    }
  }
}
