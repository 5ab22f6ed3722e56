import { createHmac } from 'node:crypto';
import type { LinkProof } from '@leadgate/contract';
import { presetProof, type PRESET_NAMES } from '@leadgate/leads';
import { describe, expect, test } from 'vitest';
import type { BodyText } from './body.ts';
import { provenBody } from './proof.ts';

const NOW = Date.UTC(2026, 10, 28, 12);
const SECRET = 'a secret/of+the link';

const bodyOf = (text: string, type: BodyText['type'] = 'json'): BodyText => ({
  ...{ kind: 'read', text, type, notes: [], bytes: Buffer.from(text) },
});

function prove(proof: LinkProof, body: BodyText, headers: Record<string, string> = {}, now = NOW) {
  return provenBody(proof, { body, headers, now });
}

const of = (preset: (typeof PRESET_NAMES)[number]): LinkProof => {
  const by = presetProof(preset);
  if (by === null) throw new Error(`${preset} proves nothing`);
  return { by, secret: SECRET };
};

const TEXT = '{"a":"é"}';
const hmac = (signed: string, encoding: 'hex' | 'base64', key: string | Buffer = SECRET) =>
  createHmac('sha256', key).update(signed).digest(encoding);

describe('a signature', () => {
  const webflow = (at: number, text = TEXT) => ({
    'x-webflow-timestamp': String(at),
    'x-webflow-signature': hmac(`${at}:${text}`, 'hex'),
  });
  test.each([
    ['typeform', of('typeform'), { 'typeform-signature': `sha256=${hmac(TEXT, 'base64')}` }],
    ['tally', of('tally'), { 'tally-signature': hmac(TEXT, 'base64') }],
    ['webflow', of('webflow'), webflow(NOW - 60_000)],
  ])(
    'of %s, as it documents it, is taken, and of another body or secret or none it is not',
    (_, proof, headers) => {
      expect(prove(proof, bodyOf(TEXT), headers)).toEqual(bodyOf(TEXT));
      expect(prove(proof, bodyOf('{"a":"e"}'), headers)).toBeNull();
      expect(prove({ ...proof, secret: 'another' }, bodyOf(TEXT), headers)).toBeNull();
      expect(prove(proof, bodyOf(TEXT))).toBeNull();
      for (const name of Object.keys(headers))
        expect(prove(proof, bodyOf(TEXT), { ...headers, [name]: '' })).toBeNull();
    },
  );

  test('with a time is not taken again after five minutes, nor with another time', () => {
    const headers = webflow(NOW);
    expect(prove(of('webflow'), bodyOf(TEXT), headers, NOW + 299_000)).not.toBeNull();
    expect(prove(of('webflow'), bodyOf(TEXT), headers, NOW + 301_000)).toBeNull();
    const later = { ...headers, 'x-webflow-timestamp': String(NOW + 301_000) };
    expect(prove(of('webflow'), bodyOf(TEXT), later, NOW + 301_000)).toBeNull();
  });

  test('of Standard Webhooks is one of those that it lists', () => {
    const key = Buffer.from('sixteen bytes of it');
    const secret = `whsec_${key.toString('base64')}`;
    const proof: LinkProof = { by: { way: 'standard-webhooks' }, secret };
    const seconds = String(NOW / 1_000);
    const right = `v1,${hmac(`msg_1.${seconds}.${TEXT}`, 'base64', key)}`;
    const headers = (signature: string, id = 'msg_1') => ({
      ...{ 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': signature },
    });
    expect(prove(proof, bodyOf(TEXT), headers(`v1,bad ${right}`))).not.toBeNull();
    expect(prove(proof, bodyOf(TEXT), headers(right, 'msg_2'))).toBeNull();
    expect(prove(proof, bodyOf(TEXT), headers('v1,bad'))).toBeNull();
    expect(prove(proof, bodyOf(TEXT), headers(right), NOW + 301_000)).toBeNull();
  });

  test('of a multipart form, whose bytes are gone, is none', () => {
    const { bytes: _, ...body } = bodyOf(TEXT);
    expect(prove(of('tally'), body, { 'tally-signature': hmac(TEXT, 'base64') })).toBeNull();
  });
});

describe('a key in the body', () => {
  const google = of('google-lead-form');
  test.each([
    JSON.stringify({ google_key: SECRET, lead_id: '1' }),
    JSON.stringify({ lead_id: '1', google_key: SECRET }).replace('secret', '\\u0073ecret'),
  ])('is taken off what is kept: %s', (text) => {
    const proven = prove(google, bodyOf(text));
    expect(JSON.parse(proven?.text ?? '')).toEqual({ google_key: '', lead_id: '1' });
  });

  test('is taken off a form', () => {
    const form = new URLSearchParams({ google_key: SECRET, email: 'a b@x.io' }).toString();
    expect(prove(google, bodyOf(form, 'form'))?.text).toBe('email=a+b%40x.io');
  });

  test.each([
    '{"lead_id":"1"}',
    '{"google_key":"another"}',
    '{"google_key":["a secret/of+the link"]}',
    '{"deep":{"google_key":"a secret/of+the link"}}',
    '{"google_key":"a secret/of+the link"',
    '"a secret/of+the link"',
    '',
  ])('that is wrong or missing proves nothing: %s', (text) => {
    expect(prove(google, bodyOf(text))).toBeNull();
  });
});
