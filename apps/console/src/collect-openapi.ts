import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';

/** Collects the OpenAPI document of the routes that are added from now on. */
export async function collectOpenapi(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Leadgate console',
        description:
          'What operators do, for programs: the same functions as the command line. Viewers get personal data masked and may only look.',
        version: '1',
      },
      components: {
        securitySchemes: {
          token: { type: 'http', scheme: 'bearer', description: 'leadgate token create' },
        },
      },
      security: [{ token: [] }],
    },
    refResolver: {
      buildLocalReference: (json, _baseUri, _fragment, i) =>
        typeof json.$id === 'string' ? json.$id : `def-${i}`,
    },
  });
}
