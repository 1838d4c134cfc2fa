# Makes the keys of signet.yaml, once: PKCS#8 files, encrypted with the passphrase.
set -eu
umask 077
mkdir -p data/keys
make() {
  file=data/keys/$1.pem
  shift
  [ -f "$file" ] || openssl genpkey "$@" -aes-256-cbc -pass "pass:known to all who read this example" -out "$file"
}
make es-1 -algorithm EC -pkeyopt ec_paramgen_curve:P-256
make rs-1 -algorithm RSA -pkeyopt rsa_keygen_bits:2048
