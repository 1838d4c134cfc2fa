import com.nimbusds.jose.JWSVerifier;
import com.nimbusds.jose.crypto.ECDSAVerifier;
import com.nimbusds.jose.crypto.Ed25519Verifier;
import com.nimbusds.jose.crypto.RSASSAVerifier;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.proc.SecurityContext;
import com.nimbusds.jwt.SignedJWT;
import com.nimbusds.jwt.proc.DefaultJWTClaimsVerifier;
import com.nimbusds.oauth2.sdk.util.JSONObjectUtils;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.Set;
import net.minidev.json.JSONObject;

/**
 * Verifies tokens, each with the key set that a relying party has and at its time. A line of standard input is a key set, or
 * `{token, key_set, now}` with the number of a key set and seconds since the epoch. Standard output gets how many were verified.
 */
public final class VerifyTokens {
  public static void main(String[] arguments) throws Exception {
    var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    List<JWKSet> keySets = new ArrayList<>();
    int verified = 0;
    for (String line; (line = input.readLine()) != null; ) {
      JSONObject given = JSONObjectUtils.parse(line);
      if (given.containsKey("keys")) {
        keySets.add(JWKSet.parse(line));
        continue;
      }
      var keys = keySets.get(JSONObjectUtils.getInt(given, "key_set"));
      var now = new Date(JSONObjectUtils.getLong(given, "now") * 1000);
      verify(JSONObjectUtils.getString(given, "token"), keys, now);
      verified++;
    }
    System.out.println(verified);
  }

  private static void verify(String token, JWKSet keys, Date now) throws Exception {
    var jwt = SignedJWT.parse(token);
    var key = keys.getKeyByKeyId(jwt.getHeader().getKeyID());
    JWSVerifier verifier =
        switch (jwt.getHeader().getAlgorithm().getName()) {
          case "ES256" -> new ECDSAVerifier(key.toECKey());
          case "RS256" -> new RSASSAVerifier(key.toRSAKey());
          case "EdDSA" -> new Ed25519Verifier(key.toOctetKeyPair());
          default -> throw new IllegalArgumentException("another algorithm: " + jwt.getHeader());
        };
    if (!jwt.verify(verifier)) throw new IllegalStateException("the signature of " + key.getKeyID() + " is wrong");
    new DefaultJWTClaimsVerifier<SecurityContext>(null, Set.of("exp", "iat")) {
      @Override
      protected Date currentTime() {
        return now;
      }
    }.verify(jwt.getJWTClaimsSet(), null);
  }
}
