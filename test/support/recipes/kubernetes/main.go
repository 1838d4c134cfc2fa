// What the API server of Kubernetes makes of ID tokens, by its own library.
//
// The first argument is a file: an AuthenticationConfiguration (.yaml), or flags of kube-apiserver, one a line. Each line
// of the input is a token; each line of the output is the user that it stands for, or an error.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/install"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	authenticationcel "k8s.io/apiserver/pkg/authentication/cel"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/oidc"
)

type bundle string

func (pem bundle) CurrentCABundleContent() []byte { return []byte(pem) }

func main() {
	text, err := os.ReadFile(os.Args[1])
	check(err)
	options := fromFlags(string(text))
	if strings.HasSuffix(os.Args[1], ".yaml") {
		options = fromConfiguration(text)
	}
	options.CAContentProvider = bundle(options.JWTAuthenticator.Issuer.CertificateAuthority)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	authenticator, err := oidc.New(ctx, options)
	check(err)
	// It reads the discovery document in the background.
	for authenticator.HealthCheck() != nil {
		check(ctx.Err())
		time.Sleep(20 * time.Millisecond)
	}
	output := json.NewEncoder(os.Stdout)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		response, ok, err := authenticator.AuthenticateToken(ctx, lines.Text())
		switch {
		case err != nil:
			check(output.Encode(map[string]string{"error": err.Error()}))
		case !ok:
			check(output.Encode(map[string]string{"error": "the token is of another issuer, or none"}))
		default:
			check(output.Encode(map[string]any{
				"username": response.User.GetName(),
				"uid":      response.User.GetUID(),
				"groups":   response.User.GetGroups(),
			}))
		}
	}
}

func fromConfiguration(text []byte) oidc.Options {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	codecs := serializer.NewCodecFactory(scheme, serializer.EnableStrict)
	object, err := runtime.Decode(codecs.UniversalDecoder(), text)
	check(err)
	configuration := object.(*apiserver.AuthenticationConfiguration)
	faults := validation.ValidateAuthenticationConfiguration(authenticationcel.NewDefaultCompiler(), configuration, nil)
	check(faults.ToAggregate())
	return oidc.Options{
		JWTAuthenticator:     configuration.JWT[0],
		SupportedSigningAlgs: oidc.AllValidSigningAlgorithms(),
	}
}

// fromFlags does what kube-apiserver does with its flags.
func fromFlags(text string) oidc.Options {
	flags := map[string]string{"oidc-username-claim": "sub"}
	for _, line := range strings.Fields(text) {
		name, value, _ := strings.Cut(strings.TrimPrefix(line, "--"), "=")
		flags[name] = value
	}
	prefix, written := flags["oidc-username-prefix"]
	if !written && flags["oidc-username-claim"] != "email" {
		prefix = flags["oidc-issuer-url"] + "#"
	}
	if prefix == "-" {
		prefix = ""
	}
	groupsPrefix := flags["oidc-groups-prefix"]
	authenticator := apiserver.JWTAuthenticator{
		Issuer: apiserver.Issuer{URL: flags["oidc-issuer-url"], Audiences: []string{flags["oidc-client-id"]}},
		ClaimMappings: apiserver.ClaimMappings{
			Username: apiserver.PrefixedClaimOrExpression{Claim: flags["oidc-username-claim"], Prefix: &prefix},
		},
	}
	if claim := flags["oidc-groups-claim"]; claim != "" {
		authenticator.ClaimMappings.Groups = apiserver.PrefixedClaimOrExpression{Claim: claim, Prefix: &groupsPrefix}
	}
	if file := flags["oidc-ca-file"]; file != "" {
		pem, err := os.ReadFile(file)
		check(err)
		authenticator.Issuer.CertificateAuthority = string(pem)
	}
	return oidc.Options{JWTAuthenticator: authenticator}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
