package io.redlock.bench;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.Lease;
import io.etcd.jetcd.lease.LeaseKeepAliveResponse;
import io.etcd.jetcd.lock.LockResponse;
import io.grpc.stub.StreamObserver;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** etcd's lock service, through jetcd: one client, whose session is a lease that it keeps alive. */
final class EtcdPeer extends Peer {

  static final String NAME = "etcd";

  private static final long TTL_SECONDS = 30;

  private final Client client;

  EtcdPeer(String name, String... addresses) {
    super(name, "bench/");
    this.client = Client.builder().endpoints(addresses).build();
  }

  /** Returns a cycle with a session of its own. */
  @Override
  Cycle cycle(String resource, Duration wait) {
    long session = session();
    ByteSequence key = ByteSequence.from(resource, StandardCharsets.UTF_8);
    return () -> {
      LockResponse lock =
          client.getLockClient().lock(key, session).get(TTL_SECONDS, TimeUnit.SECONDS);
      client.getLockClient().unlock(lock.getKey()).get(TTL_SECONDS, TimeUnit.SECONDS);
      return 1;
    };
  }

  private long session() {
    Lease leases = client.getLeaseClient();
    long id = leases.grant(TTL_SECONDS).join().getID();
    leases.keepAlive(id, new Quiet());
    return id;
  }

  /** A session that is lost fails the next lock. */
  private static final class Quiet implements StreamObserver<LeaseKeepAliveResponse> {
    @Override
    public void onNext(LeaseKeepAliveResponse response) {}

    @Override
    public void onError(Throwable failure) {}

    @Override
    public void onCompleted() {}
  }

  @Override
  public void close() {
    client.close();
  }
}
