#!/bin/bash
# A member of the replica set. mongod wants the file of the common key to be its own, and nobody else's.
set -eu
install -o mongodb -m 0400 /run/secrets/mongodb-key /data/configdb/key
exec docker-entrypoint.sh mongod --replSet signet --keyFile /data/configdb/key --bind_ip_all
