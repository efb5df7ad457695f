package io.redlock.driver;

import io.redlock.scenes.KeptLog;
import io.redlock.scenes.Scenes;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What a lock service does. The tests of its classes show what no scene can. */
class ServiceScenesTest {

  @RegisterExtension private final KeptLog log = new KeptLog();

  private Stream<DynamicTest> scenes(String file) {
    return Scenes.of("driver/" + file, log.beside(ServiceLife::new));
  }

  @TestFactory
  Stream<DynamicTest> calls() {
    return scenes("Calls.txt");
  }

  @TestFactory
  Stream<DynamicTest> fairCalls() {
    return scenes("FairCalls.txt");
  }

  @TestFactory
  Stream<DynamicTest> pauses() {
    return scenes("Pauses.txt");
  }

  @TestFactory
  Stream<DynamicTest> callsForAnyOfSeveralNames() {
    return scenes("AnyOf.txt");
  }

  @TestFactory
  Stream<DynamicTest> readers() {
    return scenes("Readers.txt");
  }

  @TestFactory
  Stream<DynamicTest> leases() {
    return scenes("Leases.txt");
  }

  @TestFactory
  Stream<DynamicTest> renewals() {
    return scenes("Renewals.txt");
  }

  @TestFactory
  Stream<DynamicTest> releases() {
    return scenes("Releases.txt");
  }

  @TestFactory
  Stream<DynamicTest> attempts() {
    return scenes("Attempts.txt");
  }

  @TestFactory
  Stream<DynamicTest> localQueues() {
    return scenes("LocalQueues.txt");
  }

  @TestFactory
  Stream<DynamicTest> passing() {
    return scenes("Passing.txt");
  }

  @TestFactory
  Stream<DynamicTest> operations() {
    return scenes("Operations.txt");
  }

  @TestFactory
  Stream<DynamicTest> service() {
    return scenes("Service.txt");
  }
}
