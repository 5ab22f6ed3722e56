import { Type } from 'typebox';
import { readRedisAddress } from './redis-address.ts';

/** The schema of a variable that holds a URL with one of these protocols (`redis:`, …). */
export function urlSetting(
  protocols: readonly string[],
  options: { description: string; examples: string[]; default?: string },
) {
  return Type.Refine(
    Type.String({ ...options, secret: true }),
    (value) => URL.canParse(value) && protocols.includes(new URL(value).protocol),
    () => `must be a URL that starts with ${protocols.map((p) => `${p}//`).join(' or ')}`,
  );
}

/** `REDIS_URL`: where Redis is. */
export const redisUrlSetting = () => {
  let wrong = '';
  return Type.Refine(
    Type.String({
      description: 'where Redis is; of a Cluster, some nodes with commas between them',
      examples: ['redis://127.0.0.1:6379'],
      secret: true,
    }),
    (value) => {
      try {
        readRedisAddress(value);
        return true;
      } catch (error) {
        wrong = error instanceof Error ? error.message : '';
        return false;
      }
    },
    () => wrong,
  );
};

/** `REDIS_CLUSTER`: whether one URL is that of a node of a Cluster. */
export const redisClusterSetting = () =>
  Type.Boolean({
    description: 'whether Redis is a Cluster though REDIS_URL names one node of it',
    default: false,
  });

/** `DATABASE_URL`: where Postgres is. */
export const databaseUrlSetting = () =>
  urlSetting(['postgresql:', 'postgres:'], {
    description: 'where Postgres is',
    examples: ['postgresql://leadgate@127.0.0.1:5432/leadgate'],
  });

/** `LOG_LEVEL`: the least severe lines that are written. */
export const logLevelSetting = () =>
  Type.Union(
    [
      Type.Literal('fatal'),
      Type.Literal('error'),
      Type.Literal('warn'),
      Type.Literal('info'),
      Type.Literal('debug'),
      Type.Literal('trace'),
      Type.Literal('silent'),
    ],
    { description: 'the least severe lines of the log', default: 'info' },
  );

/** A TCP port to listen on; 0: any free one. */
export const portSetting = (description: string, port: number) =>
  Type.Integer({ description, default: port, minimum: 0, maximum: 65_535 });
