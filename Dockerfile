# syntax=docker/dockerfile:1
FROM node:22-bookworm-slim AS build
WORKDIR /leadgate
COPY package.json package-lock.json .npmrc turbo.json tsconfig*.json prisma.config.ts ./
COPY apps apps
COPY packages packages
COPY prisma prisma
COPY scripts scripts
RUN npm ci && node scripts/build.js && npm prune --omit=dev

FROM node:22-bookworm-slim
ENV NODE_ENV=production
WORKDIR /leadgate
COPY --from=build --chown=root:root /leadgate /leadgate
USER node
EXPOSE 3000
CMD ["node", "apps/receiver/dist/main.js"]
