import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { messageId, newSecret, signedHeaders, signingKey } from './signature.ts';

const seconds = () => Math.floor(Date.now() / 1_000);

test('whatever the body, receivers verify it with the library of the standard', () => {
  fc.assert(
    fc.property(fc.json(), (body) => {
      const secret = newSecret();
      const headers = signedHeaders([signingKey(secret)], {
        id: 'msg_1',
        seconds: seconds(),
        body,
      });
      expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body));
    }),
  );
});

test('during a rotation a receiver verifies with the old secret or the new one, and no other', () => {
  const [old, current, other] = [newSecret(), newSecret(), newSecret()];
  const body = '{"name":"José"}';
  const headers = signedHeaders([current, old].map(signingKey), {
    id: 'msg_1',
    seconds: seconds(),
    body,
  });
  for (const secret of [old, current])
    expect(new Webhook(secret).verify(body, headers)).toEqual({ name: 'José' });
  expect(() => new Webhook(other).verify(body, headers)).toThrow('No matching signature');
});

test('a body that was changed, or is old, is not verified', () => {
  const secret = newSecret();
  const signed = signedHeaders([signingKey(secret)], {
    id: 'msg_1',
    seconds: seconds(),
    body: '{"a":1}',
  });
  expect(() => new Webhook(secret).verify('{"a":2}', signed)).toThrow('No matching signature');
  const old = signedHeaders([signingKey(secret)], {
    id: 'msg_1',
    seconds: seconds() - 600,
    body: '{}',
  });
  expect(() => new Webhook(secret).verify('{}', old)).toThrow('too old');
});

test('a message keeps its id through all tries of one version, and no other message has it', () => {
  const message = { endpointId: 'e', leadId: 'l', version: 3, resends: 0 };
  expect(messageId({ ...message })).toBe(messageId(message));
  const others = [{ endpointId: 'f' }, { leadId: 'm' }, { version: 4 }, { resends: 1 }];
  const ids = others.map((change) => messageId({ ...message, ...change }));
  expect(new Set([messageId(message), ...ids]).size).toBe(5);
});
