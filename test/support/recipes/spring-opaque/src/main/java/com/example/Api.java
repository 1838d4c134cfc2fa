package com.example;

import java.util.Map;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.security.oauth2.core.OAuth2AuthenticatedPrincipal;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** An API with no code for security: the starter and its settings alone. */
@RestController
@SpringBootApplication
public class Api {

  public static void main(String[] arguments) {
    SpringApplication.run(Api.class, arguments);
  }

  @GetMapping("/")
  Map<String, Object> whoAsks(@AuthenticationPrincipal OAuth2AuthenticatedPrincipal principal) {
    return Map.of("name", principal.getName(), "authorities", principal.getAuthorities().toString());
  }
}
