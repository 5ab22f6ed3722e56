// What a container's health check runs: `node deploy/image/healthy.js http://127.0.0.1:3000/ready`.
// Exit status 0 when the address answers with a 2xx status within two seconds.
const answer = await fetch(process.argv[2] ?? '', { signal: AbortSignal.timeout(2_000) }).catch(
  () => null,
);
process.exitCode = answer?.ok ? 0 : 1;
