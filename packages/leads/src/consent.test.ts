import { describe, expect, test } from 'vitest';
import { normalizeLead } from './lead.ts';

const read = (consent: unknown, mode: 'strict' | 'lenient' = 'strict') =>
  normalizeLead({ consent }, { mode, country: 'BR', dummyPhones: [], today: '2026-11-27' });
const consentOf = (consent: unknown, mode?: 'lenient') => {
  const reading = read(consent, mode);
  if (reading.kind === 'refused') throw new Error(JSON.stringify(reading.errors));
  return reading.consent;
};

describe('consent', () => {
  test.each([
    [
      { given: true, textVersion: '2026-03' },
      { given: true, textVersion: '2026-03' },
    ],
    [
      { given: false, text: 'Aceito.' },
      { given: false, text: 'Aceito.' },
    ],
    [
      { given: 'on', textVersion: 3 },
      { given: true, textVersion: '3' },
    ],
    [
      { given: true, language: 'pt-BR' },
      { given: true, language: 'pt-BR' },
    ],
    [{ given: 'Sim' }, { given: true }],
    [{ given: 'Sim', language: 'Português, por favor' }, { given: true }],
    [{ given: 0 }, { given: false }],
    ['on', { given: true }],
    [false, { given: false }],
  ])('%j is %j', (sent, consent) => {
    expect(consentOf(sent)).toEqual(consent);
  });

  test('of a box that is not ticked, of which only the words arrive, is not given', () => {
    expect(consentOf({ textVersion: 'v1' })).toEqual({ given: false, textVersion: 'v1' });
    expect(consentOf({ given: '', text: 'Aceito.' })).toEqual({ given: false, text: 'Aceito.' });
  });

  test.each([undefined, null, '', {}, { given: null, text: ' ' }])(
    'of which nothing was sent (%j) is absent',
    (sent) => {
      expect(consentOf(sent)).toBeUndefined();
    },
  );

  test('that cannot be read is refused by field, and never taken for given', () => {
    expect(read({ given: {}, text: 1, textVersion: 'x'.repeat(201) })).toMatchObject({
      kind: 'refused',
      errors: [
        { pointer: '/consent/given', code: 'not-a-boolean' },
        { pointer: '/consent/text', code: 'not-text' },
        { pointer: '/consent/textVersion', code: 'too-long' },
      ],
    });
    expect(read(2)).toMatchObject({
      errors: [{ pointer: '/consent', code: 'not-an-object' }],
    });
    expect(consentOf({ given: {}, textVersion: 'v1' }, 'lenient')).toEqual({
      given: false,
      textVersion: 'v1',
    });
  });

  test('as the words of a ticked checkbox is given, with these words; a refusal in words is none', () => {
    expect(consentOf(' Aceito receber contato ')).toEqual({
      given: true,
      text: 'Aceito receber contato',
    });
    expect(consentOf({ given: 'Aceito receber contato', textVersion: 'v1' })).toEqual({
      given: true,
      text: 'Aceito receber contato',
      textVersion: 'v1',
    });
    expect(consentOf({ given: 'Aceito', text: 'Aceito receber contato.' })).toEqual({
      given: true,
      text: 'Aceito receber contato.',
    });
    expect(consentOf({ given: 'Não', text: 'Aceito.' })).toEqual({ given: false, text: 'Aceito.' });
    for (const word of ['false', '0', 'no', 'Não', 'off'])
      expect(consentOf(word)).toEqual({ given: false });
    expect(consentOf(' ')).toBeUndefined();
  });

  test.each([
    'Não aceito',
    'nao aceito',
    'Não quero receber contato.',
    'No acepto',
    'No, thanks',
    'I do not agree',
    "I don't consent",
    'Recuso',
    'Não.',
    'Não, obrigado',
    'No, gracias',
    'Discordo',
    'Não autorizo o uso dos meus dados pessoais para fins de marketing e publicidade.',
    'I do not agree to receive emails about products and services of this company',
    'Não dou meu consentimento',
    'denied',
    'Rejeitado',
    'opt-out',
    'unchecked',
  ])('%j is a refusal in words', (text) => {
    expect(consentOf(text)?.given).toBe(false);
    expect(consentOf({ given: text })).toEqual({ given: false, text });
  });

  test.each([
    'Não enviamos spam. Aceito receber contato',
    'Notícias: aceito',
    'Nota de privacidade aceita',
    'Não quero perder novidades: aceito receber contato',
    'Não quero perder nenhuma das novidades e promoções da loja',
    'Negociar é comigo',
    'granted',
  ])('%j is what was agreed to', (text) => expect(consentOf(text)).toEqual({ given: true, text }));

  test.each([
    [['on'], { given: true }],
    [['0', '1'], { given: true }],
    [['Aceito A', 'Aceito B'], { given: true, text: 'Aceito A; Aceito B' }],
    [['Aceito', 'Não aceito'], { given: false, text: 'Não aceito' }],
    ['N', { given: false }],
    ['{"given":"sim","textVersion":2}', { given: true, textVersion: '2' }],
    ['undefined', undefined],
    ['null', undefined],
    ['-', undefined],
  ])('%j is read as a form or a script sends it', (sent, consent) => {
    expect(consentOf(sent)).toEqual(consent);
  });

  test('is bounded, and what else is in it is noted', () => {
    expect(consentOf({ given: true, text: 'x'.repeat(10_000) })?.text).toHaveLength(10_000);
    expect(read({ given: true, text: 'x'.repeat(10_001) })).toMatchObject({ kind: 'refused' });
    expect(read({ given: true, ip: '1.2.3.4' })).toMatchObject({
      notes: [{ field: '/consent/ip', code: 'unknown-key' }],
    });
  });
});
