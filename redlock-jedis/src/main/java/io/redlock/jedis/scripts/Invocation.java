package io.redlock.jedis.scripts;

import io.redlock.spi.NodeRequest;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One call of a script with its arguments, encoded. The same instance goes to every node; only the
 * guard differs from node to node, and {@link ScriptCommand} adds it last. Thread-safe.
 */
public final class Invocation {

  private static final int ROOM_BYTES = 96; // for the name, the digest and the guard

  /** Returns the script. */
  public final Script script;

  /** Returns about how many bytes the command occupies in a socket's buffer. */
  public final int bytes;

  /** Returns the request that this is the encoding of; null for an audit. */
  public final @Nullable NodeRequest request;

  /** Returns the value of the lock keys of its owner; empty for an audit. */
  final Argument value;

  /** Returns the text that every reply to this invocation repeats: of a request, its token. */
  final Argument echo;

  /** Returns the arguments after the digest, without the guard. */
  final Argument[] arguments;

  /**
   * @param request the request that this is the encoding of; null for an audit
   * @param value the value of the lock keys of its owner; empty for an audit
   * @param echo the argument that every reply repeats
   * @param arguments the arguments after the digest: number of keys, keys, others
   */
  Invocation(
      Script script,
      @Nullable NodeRequest request,
      Argument value,
      Argument echo,
      Argument... arguments) {
    this.script = script;
    this.request = request;
    this.value = value;
    this.echo = echo;
    this.arguments = arguments;
    int size = ROOM_BYTES;
    for (Argument each : arguments) {
      size += each.getRaw().length + 8;
    }
    this.bytes = size;
  }

  /** Returns true if it is by the same owner, at the same token. */
  boolean isOfOwnerOf(NodeRequest other) {
    return request != null
        && request.token() == other.token()
        && request.owner().equals(other.owner());
  }

  /** Returns the number of names; 0 for an audit. */
  public int names() {
    return request == null ? 0 : request.names().size();
  }

  String name(int number) {
    return Objects.requireNonNull(request).names().get(number);
  }

  /** Returns the client to wake if it grants in turn; null otherwise. */
  public @Nullable String waitingClient() {
    return request instanceof NodeRequest.Grant grant && grant.ticket() != null
        ? grant.ticket().client()
        : null;
  }
}
