package com.example.shop;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.testbed.Await;
import io.redlock.testbed.JavaCommand;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.Signal;
import io.redlock.testbed.Unchecked;
import java.io.File;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A process that runs a main class of the application. */
final class Instance implements AutoCloseable {

  private final HttpClient http = HttpClient.newHttpClient();
  private final int port;
  private final Path log;
  private final Process process;

  private Instance(int port, Path log, Process process) {
    this.port = port;
    this.log = log;
    this.process = process;
  }

  /**
   * Starts a process.
   *
   * @param without the jars that it does not have on its class path
   * @param arguments the properties of the application
   */
  static Instance start(Class<?> main, Pattern without, String... arguments) throws IOException {
    int port = RedisServer.freePort();
    Path log = Files.createTempFile(Path.of("target"), "instance-", ".log");
    String classPath =
        Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
            .filter(jar -> !without.matcher(Path.of(jar).getFileName().toString()).find())
            .collect(Collectors.joining(File.pathSeparator));
    List<String> command = JavaCommand.with(classPath, 128);
    command.addAll(List.of(main.getName(), "--server.port=" + port));
    command.addAll(List.of(arguments));
    Process process =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
    return new Instance(port, log, process);
  }

  /** Waits until it serves. */
  Instance awaitServing() {
    try {
      Await.until("it serves or has ended", () -> !process.isAlive() || isServing());
    } catch (AssertionError e) {
      close(); // nobody else has it yet
      throw new AssertionError(e.getMessage() + ":\n" + log(), e);
    }
    assertTrue(process.isAlive(), () -> "it has ended:\n" + log());
    return this;
  }

  boolean isServing() {
    try {
      return get("/actuator/health").statusCode() > 0;
    } catch (IOException e) {
      return false;
    }
  }

  HttpResponse<String> get(String path) throws IOException {
    try {
      return http.send(HttpRequest.newBuilder(uri(path)).build(), BodyHandlers.ofString());
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** Returns the body of a page; empty while it cannot be reached. */
  String page(String path) {
    try {
      return get(path).body();
    } catch (IOException e) {
      return "";
    }
  }

  CompletableFuture<HttpResponse<String>> ship(String order) {
    HttpRequest request =
        HttpRequest.newBuilder(uri("/orders/" + order + "/ship"))
            .POST(BodyPublishers.noBody())
            .build();
    return http.sendAsync(request, BodyHandlers.ofString());
  }

  private URI uri(String path) {
    return URI.create("http://127.0.0.1:" + port + path);
  }

  /** Tells it to end, as an orchestrator does. */
  void terminate() {
    Signal.TERM.to(process);
  }

  /** Returns true once nothing new reaches it. */
  boolean refusesConnections() {
    try {
      HttpClient.newHttpClient()
          .send(HttpRequest.newBuilder(uri("/actuator/health")).build(), BodyHandlers.discarding());
      return false;
    } catch (ConnectException e) {
      return true;
    } catch (IOException e) {
      return false;
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** Waits until it has ended, and returns its exit code. */
  int awaitEnd() throws InterruptedException {
    if (!process.waitFor(60, TimeUnit.SECONDS)) {
      throw new AssertionError("it does not end:\n" + log());
    }
    return process.exitValue();
  }

  String log() {
    return Unchecked.call(() -> Files.readString(log));
  }

  @Override
  public void close() {
    process.destroyForcibly().onExit().join();
  }
}
