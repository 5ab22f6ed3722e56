# One image for receiver, worker, deliverer, console and the command line; what runs is the command.
#
#   docker build -t leadgate .
#
# Tags move: that is how security fixes arrive. For a build that can be repeated, give the base by its
# digest (docs/deploy.md):
#
#   docker build --build-arg NODE_IMAGE=node:24-bookworm-slim@sha256:… -t leadgate .
ARG NODE_IMAGE=node:24-bookworm-slim

# What decides the dependencies and nothing else, so that a change of code installs nothing again.
FROM ${NODE_IMAGE} AS manifests
WORKDIR /leadgate
COPY package.json package-lock.json .npmrc ./
COPY apps apps
COPY packages packages
RUN find apps packages -type f ! -name package.json -delete \
 && find apps packages -type d -empty -delete

FROM ${NODE_IMAGE} AS build
WORKDIR /leadgate
COPY --from=manifests /leadgate ./
# Install scripts never run: .npmrc says so.
RUN --mount=type=cache,target=/root/.npm npm ci --no-progress
COPY . .
RUN node scripts/build.js \
 && mkdir /out \
 && cp -r --parents apps/*/dist apps/cli/bin packages/capture/dist prisma/migrations deploy/image/healthy.js /out

# What the apps need when they run. By app, as test servers are a workspace too.
FROM ${NODE_IMAGE} AS production
WORKDIR /leadgate
COPY --from=manifests /leadgate ./
RUN --mount=type=cache,target=/root/.npm \
    npm ci --omit=dev --no-progress \
      --workspace apps/receiver --workspace apps/worker --workspace apps/deliverer --workspace apps/console --workspace apps/cli \
 # Prisma brings the query compilers of all its databases: 60 MB that are never loaded.
 && find node_modules/@prisma/client/runtime -name 'query_compiler_*' ! -name '*fast*postgresql*' -delete \
 && rm -rf packages/testkit package-lock.json .npmrc
COPY deploy/image/remove-unneeded.js deploy/image/
RUN node deploy/image/remove-unneeded.js && rm deploy/image/remove-unneeded.js
COPY --from=build /out ./

FROM ${NODE_IMAGE}
# As scripts/launcher/node-options.js says.
ENV NODE_ENV=production NODE_OPTIONS=--max-semi-space-size=32
WORKDIR /leadgate
# Owned by root: what runs cannot change its own code. Nothing but the spool's volume is written.
COPY --from=production /leadgate ./
RUN ln -s /leadgate/apps/cli/bin/leadgate.js /usr/local/bin/leadgate \
 && leadgate --version \
 # It keeps the code that was compiled, which takes half of a command's CPU; later it may not write here.
 && ! DATABASE_URL=postgresql://127.0.0.1:1/none leadgate lead find --email nobody@example.com \
 && install -d -o node -g node -m 0700 /var/lib/leadgate/spool /var/lib/leadgate/erasures
# By number, so that Kubernetes can see that it is not root. The image's `node`.
USER 1000:1000
EXPOSE 3000 3001 3002 3003
CMD ["node", "apps/receiver/dist/main.js"]
