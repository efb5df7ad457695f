package com.example.locks;

import org.springframework.boot.autoconfigure.SpringBootApplication;

/** What the recipe is tested in. */
@SpringBootApplication
public class Application {}
