import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.util.X509CertUtils;
import com.nimbusds.jwt.SignedJWT;
import com.nimbusds.oauth2.sdk.AuthorizationCodeGrant;
import com.nimbusds.oauth2.sdk.AuthorizationGrant;
import com.nimbusds.oauth2.sdk.PushedAuthorizationRequest;
import com.nimbusds.oauth2.sdk.PushedAuthorizationResponse;
import com.nimbusds.oauth2.sdk.RefreshTokenGrant;
import com.nimbusds.oauth2.sdk.ResponseMode;
import com.nimbusds.oauth2.sdk.ResponseType;
import com.nimbusds.oauth2.sdk.Scope;
import com.nimbusds.oauth2.sdk.TokenRequest;
import com.nimbusds.oauth2.sdk.TokenResponse;
import com.nimbusds.oauth2.sdk.auth.PKITLSClientAuthentication;
import com.nimbusds.oauth2.sdk.auth.X509CertificateConfirmation;
import com.nimbusds.oauth2.sdk.id.ClientID;
import com.nimbusds.oauth2.sdk.id.Issuer;
import com.nimbusds.oauth2.sdk.id.State;
import com.nimbusds.oauth2.sdk.jarm.JARMValidator;
import com.nimbusds.oauth2.sdk.pkce.CodeChallengeMethod;
import com.nimbusds.oauth2.sdk.pkce.CodeVerifier;
import com.nimbusds.oauth2.sdk.rar.AuthorizationDetail;
import com.nimbusds.oauth2.sdk.token.AccessToken;
import com.nimbusds.oauth2.sdk.util.JSONObjectUtils;
import com.nimbusds.openid.connect.sdk.AuthenticationRequest;
import com.nimbusds.openid.connect.sdk.AuthenticationResponseParser;
import com.nimbusds.openid.connect.sdk.Nonce;
import com.nimbusds.openid.connect.sdk.OIDCTokenResponse;
import com.nimbusds.openid.connect.sdk.OIDCTokenResponseParser;
import com.nimbusds.openid.connect.sdk.UserInfoRequest;
import com.nimbusds.openid.connect.sdk.UserInfoResponse;
import com.nimbusds.openid.connect.sdk.op.OIDCProviderMetadata;
import com.nimbusds.openid.connect.sdk.validators.AccessTokenValidator;
import com.nimbusds.openid.connect.sdk.validators.IDTokenValidator;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManagerFactory;
import net.minidev.json.JSONObject;

/**
 * The journey of a FAPI 2.0 client with mutual TLS: pushed request, signed response, bound tokens, userinfo, refresh. Standard
 * input has a JSON object in its first line and, after a person has signed in, the URL that the browser left for in its second.
 * Standard output gets the URL to open, then a JSON object of what came of it.
 */
public final class FapiClient {
  public static void main(String[] arguments) throws Exception {
    var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    JSONObject given = JSONObjectUtils.parse(input.readLine());
    var issuer = new Issuer(JSONObjectUtils.getString(given, "issuer"));
    var clientId = new ClientID(JSONObjectUtils.getString(given, "client_id"));
    var redirectUri = new URI(JSONObjectUtils.getString(given, "redirect_uri"));
    List<X509Certificate> chain =
        JSONObjectUtils.getStringList(given, "certificates").stream().map(X509CertUtils::parse).toList();
    SSLSocketFactory sockets = socketsOf(chain, given);

    OIDCProviderMetadata provider = OIDCProviderMetadata.resolve(issuer);
    var endpoints = provider.getMtlsEndpointAliases();
    JWKSet keys = JWKSet.load(provider.getJWKSetURI().toURL());
    var alg = JWSAlgorithm.parse(JSONObjectUtils.getString(given, "alg"));
    var authentication = new PKITLSClientAuthentication(clientId, sockets);

    var verifier = new CodeVerifier();
    var state = new State();
    var nonce = new Nonce();
    var request =
        new AuthenticationRequest.Builder(
                new ResponseType("code"), new Scope("openid", "offline_access"), clientId, redirectUri)
            .state(state)
            .nonce(nonce)
            .responseMode(ResponseMode.JWT)
            .codeChallenge(verifier, CodeChallengeMethod.S256)
            .authorizationDetails(
                AuthorizationDetail.parseList(JSONObjectUtils.getString(given, "authorization_details")))
            .build();
    var pushed =
        PushedAuthorizationResponse.parse(
            new PushedAuthorizationRequest(endpoints.getPushedAuthorizationRequestEndpointURI(), authentication, request)
                .toHTTPRequest()
                .send());
    if (!pushed.indicatesSuccess()) throw new Exception("/par: " + pushed.toErrorResponse().getErrorObject().toJSONObject());
    var opened =
        new AuthenticationRequest.Builder(pushed.toSuccessResponse().getRequestURI(), clientId)
            .endpointURI(provider.getAuthorizationEndpointURI())
            .build();
    System.out.println(opened.toURI());

    var left = new URI(input.readLine());
    var answer = AuthenticationResponseParser.parse(left, new JARMValidator(issuer, clientId, alg, keys));
    if (!answer.indicatesSuccess()) throw new Exception("/authorize: " + answer.toErrorResponse().getErrorObject().toJSONObject());
    var success = answer.toSuccessResponse();
    if (!state.equals(success.getState()) || !issuer.equals(success.getIssuer())) throw new Exception("state or iss");

    var grant = new AuthorizationCodeGrant(success.getAuthorizationCode(), redirectUri, verifier);
    OIDCTokenResponse tokens = tokensFor(endpoints.getTokenEndpointURI(), authentication, grant);
    AccessToken access = tokens.getOIDCTokens().getAccessToken();
    var idToken = new IDTokenValidator(issuer, clientId, alg, keys).validate(tokens.getOIDCTokens().getIDToken(), nonce);
    if (idToken.getAccessTokenHash() != null) AccessTokenValidator.validate(access, alg, idToken.getAccessTokenHash());
    var claims = SignedJWT.parse(access.getValue()).getJWTClaimsSet();
    var bound = X509CertificateConfirmation.of(chain.get(0)).equals(X509CertificateConfirmation.parse(claims));

    var userinfo =
        new UserInfoRequest(endpoints.getUserInfoEndpointURI(), tokens.getOIDCTokens().getBearerAccessToken())
            .toHTTPRequest();
    userinfo.setSSLSocketFactory(sockets);
    var person = UserInfoResponse.parse(userinfo.send());
    if (!person.indicatesSuccess()) throw new Exception("/userinfo: " + person.toErrorResponse().getErrorObject().toJSONObject());

    var refresh = new RefreshTokenGrant(tokens.getOIDCTokens().getRefreshToken());
    OIDCTokenResponse refreshed = tokensFor(endpoints.getTokenEndpointURI(), authentication, refresh);

    var told = new JSONObject();
    told.put("sub", idToken.getSubject().getValue());
    told.put("userinfo_sub", person.toSuccessResponse().getUserInfo().getSubject().getValue());
    told.put("bound", bound);
    told.put("authorization_details", claims.getClaim("authorization_details"));
    told.put("refreshed", !refreshed.getOIDCTokens().getAccessToken().equals(access));
    told.put("rotated", refreshed.getOIDCTokens().getRefreshToken() != null
        && !refreshed.getOIDCTokens().getRefreshToken().equals(tokens.getOIDCTokens().getRefreshToken()));
    System.out.println(told.toJSONString());
  }

  private static OIDCTokenResponse tokensFor(URI endpoint, PKITLSClientAuthentication authentication, AuthorizationGrant grant)
      throws Exception {
    TokenResponse answer =
        OIDCTokenResponseParser.parse(new TokenRequest.Builder(endpoint, authentication, grant).build().toHTTPRequest().send());
    if (!answer.indicatesSuccess()) throw new Exception("/token: " + answer.toErrorResponse().getErrorObject().toJSONObject());
    return (OIDCTokenResponse) answer.toSuccessResponse();
  }

  /** Connections that present the client's certificate and trust the server's alone. */
  private static SSLSocketFactory socketsOf(List<X509Certificate> chain, JSONObject given) throws Exception {
    var own = KeyStore.getInstance("PKCS12");
    own.load(null, null);
    var key = ECKey.parse(JSONObjectUtils.getJSONObject(given, "key")).toPrivateKey();
    own.setKeyEntry("client", key, new char[0], chain.toArray(Certificate[]::new));
    var managers = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    managers.init(own, new char[0]);
    var trusted = KeyStore.getInstance("PKCS12");
    trusted.load(null, null);
    trusted.setCertificateEntry("server", X509CertUtils.parse(JSONObjectUtils.getString(given, "server_certificate")));
    var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(trusted);
    var context = SSLContext.getInstance("TLS");
    context.init(managers.getKeyManagers(), trust.getTrustManagers(), null);
    return context.getSocketFactory();
  }
}
