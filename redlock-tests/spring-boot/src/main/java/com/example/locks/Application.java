package com.example.locks;

import org.springframework.boot.autoconfigure.SpringBootApplication;

/** The application in which the recipe is tested. */
@SpringBootApplication
public class Application {}
