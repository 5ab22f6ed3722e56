import { afterAll } from 'vitest';
import { releaseDatabases } from './test-redis.ts';

// Of each file of tests that shares a process with others.
afterAll(releaseDatabases);
