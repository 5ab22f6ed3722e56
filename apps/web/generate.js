import { mkdirSync, writeFileSync } from 'node:fs';
import openapiTS, { astToString } from 'openapi-typescript';

// The types of the API, made from its OpenAPI document: none is written by hand.
const document = new URL('../console/openapi.json', import.meta.url);
const folder = new URL('src/generated/', import.meta.url);
mkdirSync(folder, { recursive: true });
writeFileSync(new URL('api.ts', folder), astToString(await openapiTS(document)));
