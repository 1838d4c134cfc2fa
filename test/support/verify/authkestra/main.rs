//! Reads requests from its input, one as JSON per line, and answers each with a line: `accepted SUBJECT DEVICE`, or
//! the code of the refusal. All lines have one memory of what was used.

use std::io::{stdin, BufRead};
use std::time::Duration;

use authkestra_devsig::{verify, InMemoryReplayStore, IssuerJwks, SignedRequest, VerifierConfig};
use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::Algorithm;
use serde::Deserialize;

#[derive(Deserialize)]
struct Trust {
    issuer: String,
    audience: String,
    jwks: JwkSet,
}

#[derive(Deserialize)]
struct Sent {
    attestation: String,
    signature: String,
    method: String,
    path: String,
    query: Option<String>,
    body: Option<String>,
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime").block_on(answer());
}

async fn answer() {
    let mut lines = stdin().lock().lines().map(|line| line.expect("a line"));
    let trust: Trust = serde_json::from_str(&lines.next().expect("whom to trust")).expect("trust as JSON");
    let config = VerifierConfig::new(
        [trust.issuer.clone()],
        [Algorithm::ES256],
        Duration::from_secs(30),
        Duration::from_secs(300),
        trust.audience,
    );
    let jwks = IssuerJwks::new();
    for jwk in trust.jwks.keys {
        if let Some(kid) = jwk.common.key_id.clone() {
            jwks.insert(trust.issuer.clone(), kid, jwk).await;
        }
    }
    let used = InMemoryReplayStore::new();
    for line in lines {
        let sent: Sent = serde_json::from_str(&line).expect("a request as JSON");
        let request = SignedRequest {
            signature: Some(&sent.signature),
            attestation: Some(&sent.attestation),
            method: &sent.method,
            path: &sent.path,
            query: sent.query.as_deref(),
            body: sent.body.as_deref().map(str::as_bytes),
        };
        match verify(&request, &config, &jwks, &used).await {
            Ok(device) => println!("accepted {} {}", device.subject, device.device),
            Err(error) => println!("{}", error.code()),
        }
    }
}
