package com.example.shop;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.stereotype.Component;

/** The shared store behind the shop: one for all instances, and it refuses a lower token. */
@Component
public class Warehouse {

  private final HttpClient http = HttpClient.newHttpClient();
  private final String address;

  Warehouse(@Value("${warehouse}") String address) {
    this.address = address;
  }

  String ship(String order, long token) throws IOException, InterruptedException {
    return ask("/ship/" + order + "/" + token);
  }

  boolean isReportDue() throws IOException, InterruptedException {
    return ask("/due").equals("true");
  }

  void report(long token) throws IOException, InterruptedException {
    ask("/report/" + token);
  }

  private String ask(String path) throws IOException, InterruptedException {
    HttpRequest request = HttpRequest.newBuilder(URI.create(address + path)).build();
    return http.send(request, BodyHandlers.ofString()).body();
  }
}
