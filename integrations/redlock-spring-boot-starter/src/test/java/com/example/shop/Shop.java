package com.example.shop;

// readme:start spring-use
import static java.time.Duration.ofSeconds;

import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;

@RestController
public record Shop(Warehouse warehouse, Redlock redlock) {

  /** Ships an order: one request at a time, on all instances together. */
  @PostMapping("/orders/{order}/ship")
  public String ship(@PathVariable("order") String order) throws Exception {
    LeaseRequest one = LeaseRequest.of("orders/" + order, ofSeconds(10)).waitUpTo(ofSeconds(20));
    return redlock.callLeased(one, lease -> warehouse.ship(order, lease.fencingToken()));
  }

  /** Writes the report when it is due, on one instance. */
  @Scheduled(fixedRate = 50)
  public void report() throws Exception {
    try (Lease lease = redlock.tryAcquire("report", ofSeconds(10)).lease().orElse(null)) {
      if (lease != null && warehouse.isReportDue()) {
        warehouse.report(lease.fencingToken());
      }
    }
  }
}
// readme:end
