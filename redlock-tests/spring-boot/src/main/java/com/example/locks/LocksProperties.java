package com.example.locks;

// readme:start spring-properties
import java.time.Duration;
import java.util.List;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

@ConfigurationProperties("locks")
public record LocksProperties(
    @DefaultValue List<String> nodes,
    @DefaultValue("50ms") Duration nodeTimeout,
    @DefaultValue("30s") Duration maxTtl,
    @DefaultValue("") String keyPrefix) {}
// readme:end
