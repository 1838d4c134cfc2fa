#!/bin/sh
# Makes the secrets of compose.yaml in deploy/secrets; what is there stays. Containers of several users read the files,
# so they are readable; the folder is not.
set -eu
folder="${1:-$(dirname "$0")/secrets}"
umask 022
mkdir -p "$folder"
chmod 700 "$folder"

# random FILE: hexadecimal, so that it needs no escape in a URI.
random() {
  [ -s "$folder/$1" ] || openssl rand -hex 32 | tr -d '\n' >"$folder/$1"
}
# text FILE CONTENT
text() {
  [ -s "$folder/$1" ] || printf '%s' "$2" >"$folder/$1"
}

random admin-token
random grafana-password
random mongodb-key
random mongodb-root-password
random mongodb-password
random redis-password
random reports-client-secret
text mongodb-uri "mongodb://signet:$(cat "$folder/mongodb-password")@mongo-1,mongo-2,mongo-3/signet?replicaSet=signet&authSource=admin"
text redis-uri "redis://signet:$(cat "$folder/redis-password")@redis:6379/0"
# Data under the prefix, scripts, and what the server says of itself; nothing that changes or empties it.
text redis-acl "user default off
user probe on nopass resetkeys resetchannels -@all +ping
user signet on >$(cat "$folder/redis-password") ~signet:* resetchannels -@all +@read +@write +@connection +@scripting -@dangerous +info
"
