# To pin the base images, give their digests: --build-arg RUN_IMAGE=node:24-bookworm-slim@sha256:…
ARG BUILD_IMAGE=node:24-bookworm
ARG RUN_IMAGE=node:24-bookworm-slim

# What runs, with the packages of every module. One package may run a script at installation: pkcs11js is compiled, with the headers of this Node.
FROM ${BUILD_IMAGE} AS dependencies
WORKDIR /src
COPY package.json package-lock.json .npmrc .ci/production-manifest.js ./
RUN node production-manifest.js \
  && npm ci --omit=dev --ignore-scripts \
  && npm_config_nodedir=/usr/local npm rebuild pkcs11js

# `npm pack` leaves what a published package holds, and nothing else gets into the image.
FROM ${BUILD_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build \
  && npm pack --ignore-scripts \
  && tar -xzf signet-*.tgz

FROM ${RUN_IMAGE} AS run
ENV NODE_ENV=production
COPY --from=dependencies /src/node_modules /app/node_modules
COPY --from=build /src/package /app
COPY deploy/health-check.js /app/deploy/health-check.js
RUN ln -s /app/bin/signet.js /usr/local/bin/signet \
  && install -d -o 1000 -g 1000 -m 0700 /data
# The sockets of workers are temporary files, and nothing else can be written to where the root file system is read-only.
ENV TMPDIR=/data
# Every command works on this one, `docker exec … signet clients add` too.
ENV SIGNET_CONFIG=/config/signet.yaml
# Relative paths of the configuration start here, so that its defaults (./data/…) are in the volume.
WORKDIR /
# By number, so that an orchestrator can see that it is not root.
USER 1000:1000
VOLUME /data
EXPOSE 3000 3001
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["node", "/app/deploy/health-check.js", "live"]
ENTRYPOINT ["signet"]
CMD ["start"]
