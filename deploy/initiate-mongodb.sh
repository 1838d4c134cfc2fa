#!/bin/bash
# Once: makes three members a replica set, and the user of Signet, who may do nothing outside its database.
set -eu
export ROOT_PASSWORD PASSWORD
ROOT_PASSWORD="$(cat /run/secrets/mongodb-root-password)"
PASSWORD="$(cat /run/secrets/mongodb-password)"

script='
db.getSiblingDB("admin").auth("root", process.env.ROOT_PASSWORD)
try {
  rs.status()
} catch (error) {
  if (error.codeName !== "NotYetInitialized") throw error
  rs.initiate({ _id: "signet", members: [1, 2, 3].map((n) => ({ _id: n, host: `mongo-${n}:27017` })) })
}
while (!db.hello().isWritablePrimary && !db.hello().primary) sleep(500)
const primary = connect(`mongodb://root:${process.env.ROOT_PASSWORD}@${db.hello().primary}/admin`)
if (primary.getUser("signet") === null) {
  primary.createUser(
    { user: "signet", pwd: process.env.PASSWORD, roles: [{ role: "readWrite", db: "signet" }] },
    { w: "majority", wtimeout: 60000 },
  )
}
'
for attempt in $(seq 60); do
  if mongosh --quiet mongodb://mongo-1/admin --eval "$script"; then
    echo "The replica set is ready."
    exit 0
  fi
  echo "Attempt $attempt failed; next in a second."
  sleep 1
done
exit 1
