package com.example;

import static org.springframework.security.oauth2.jose.jws.SignatureAlgorithm.ES256;

import java.net.URI;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.security.oauth2.core.DelegatingOAuth2TokenValidator;
import org.springframework.security.oauth2.jwt.BadJwtException;
import org.springframework.security.oauth2.jwt.Jwt;
import org.springframework.security.oauth2.jwt.JwtClaimValidator;
import org.springframework.security.oauth2.jwt.JwtIssuerValidator;
import org.springframework.security.oauth2.jwt.JwtTimestampValidator;
import org.springframework.security.oauth2.jwt.JwtTypeValidator;
import org.springframework.security.oauth2.jwt.NimbusJwtDecoder;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.client.HttpClientErrorException;
import org.springframework.web.client.RestClient;
import org.springframework.web.util.HtmlUtils;

/** The sign-in of an organisation, which Signet hands people off to, and the page to which its application has them sent back. */
@RestController
@SpringBootApplication
public class SignIn {

  private final NimbusJwtDecoder requests;
  private final RestClient admin;

  public static void main(String[] arguments) {
    SpringApplication.run(SignIn.class, arguments);
  }

  SignIn(
      @Value("${signet.issuer}") String issuer,
      @Value("${signet.admin}") String admin,
      @Value("${signet.admin-token}") String adminToken,
      @Value("${own-url}") String ownUrl) {
    // Signet's first key that may sign hand-offs; Spring expects RS256 and the type JWT otherwise.
    requests = NimbusJwtDecoder.withJwkSetUri(issuer + "/jwks.json").jwsAlgorithm(ES256).validateType(false).build();
    requests.setJwtValidator(new DelegatingOAuth2TokenValidator<>(
        new JwtTypeValidator("handoff+jwt"),
        new JwtIssuerValidator(issuer),
        new JwtClaimValidator<List<String>>("aud", audience -> audience != null && audience.contains(ownUrl)),
        new JwtClaimValidator<Instant>("exp", Objects::nonNull),
        new JwtTimestampValidator()));
    this.admin = RestClient.builder().baseUrl(admin).defaultHeaders(h -> h.setBearerAuth(adminToken)).build();
  }

  @GetMapping("/start")
  ResponseEntity<String> start(@RequestParam String request) {
    return form(200, requests.decode(request), "");
  }

  @PostMapping("/start")
  ResponseEntity<String> signIn(
      @RequestParam String request,
      @RequestParam String username,
      @RequestParam String password,
      @RequestParam(required = false) String cancel) {
    var asked = requests.decode(request);
    if (cancel != null) return answer(asked, "refuse", Map.of("reason", "cancelled"));
    if (!username.equals("alice") || !password.equals("correct horse"))
      return form(403, asked, "The name or the password is wrong.");
    return answer(asked, "sign-in", Map.of(
        "subject", "employee-7",
        "claims", Map.of("name", "Alice Adams"),
        "amr", List.of("pwd"),
        "auth_time", Instant.now().getEpochSecond()));
  }

  /** Tells Signet, server to server, and sends the browser exactly where Signet says: the address has a secret. */
  private ResponseEntity<String> answer(Jwt asked, String verb, Map<String, Object> body) {
    var answered = admin.post()
        .uri("/interactions/{interaction}/{verb}", asked.getClaimAsString("interaction"), verb)
        .contentType(MediaType.APPLICATION_JSON)
        .body(body)
        .retrieve()
        .body(Map.class);
    return ResponseEntity.status(303).location(URI.create((String) answered.get("redirect_to"))).build();
  }

  private ResponseEntity<String> form(int status, Jwt asked, String problem) {
    var client = asked.hasClaim("client_name") ? asked.getClaimAsString("client_name") : "this application";
    return page(status, """
        <h1>Sign in to %s</h1><p>You asked for this a moment ago. If you did not, cancel.</p>
        <p role="alert">%s</p>
        <form method="post" action="/start"><input type="hidden" name="request" value="%s">
        <label>Name <input name="username"></label> <label>Password <input name="password" type="password"></label>
        <button>Sign in</button> <button name="cancel" value="1">Cancel</button></form>
        """.formatted(HtmlUtils.htmlEscape(client), problem, asked.getTokenValue()));
  }

  /** Signet did not ask for this, or has its answer already. */
  @ExceptionHandler({BadJwtException.class, HttpClientErrorException.class})
  ResponseEntity<String> over() {
    return page(400, "<h1>This sign-in is over</h1><p>Go back to the application and begin again.</p>");
  }

  @GetMapping("/signed-in")
  ResponseEntity<String> signedIn() {
    return page(200, "Signed in. The address has the code for the application.");
  }

  private static ResponseEntity<String> page(int status, String html) {
    return ResponseEntity.status(status)
        .contentType(MediaType.TEXT_HTML)
        .body("""
            <!doctype html><html lang="en">
            <meta name="viewport" content="width=device-width"><title>Sign in</title>
            """ + html);
  }
}
