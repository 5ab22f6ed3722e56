import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mapBody, mappingFaults, suggestRules } from './mapping.ts';

test.each([
  [
    {
      'Nome completo': 'Ana Sá',
      'E-mail': 'ana@x.io',
      WhatsApp: '11 98765-0001',
      Cidade: 'Santos',
    },
  ],
  [
    {
      data: {
        'Your name': 'Ana Sá',
        'Your email': 'ana@x.io',
        'Your phone': '11 98765-0001',
        city: 'Santos',
      },
    },
  ],
  [
    {
      nombre: 'Ana Sá',
      'Correo electrónico': 'ana@x.io',
      Teléfono: '11 98765-0001',
      ciudad: 'Santos',
    },
  ],
  [
    {
      answers: [
        { label: "Name's", value: 'no' },
        { label: 'Nome', value: 'Ana Sá' },
        { label: 'Qual o seu melhor contato?', value: 'ana@x.io' },
        { label: 'Telefone', value: '11 98765-0001' },
        { label: 'Cidade', value: 'Santos' },
      ],
    },
  ],
  [
    {
      'Qual é o nome da sua empresa?': 'ACME',
      'Qual é o seu nome completo?': 'Ana Sá',
      'Digite seu melhor e-mail': 'ana@x.io',
      'Qual o número do seu WhatsApp?': '11 98765-0001',
      'Qual a sua cidade?': 'Santos',
    },
  ],
  [
    {
      '¿Cuál es tu nombre?': 'Ana Sá',
      'What is your best email?': 'ana@x.io',
      '¿Cuál es su teléfono?': '11 98765-0001',
      'Which city?': 'Santos',
    },
  ],
])('a mapping is proposed from what a body calls its fields: %j', (body) => {
  const mapping = { preset: null, rules: suggestRules([{}, body, body]) };
  expect(mappingFaults(mapping)).toEqual([]);
  expect(mapBody(body, mapping)).toEqual({
    ...{ name: 'Ana Sá', email: 'ana@x.io', telephone: '11 98765-0001', city: 'Santos' },
  });
});

test('whatever the bodies are, what is proposed is a mapping that a link may have', () => {
  const key = fc.constantFrom('email', "nome'", 'a\\b', 'value', 'label', 'x');
  const { body } = fc.letrec((tie) => ({
    body: fc.oneof(
      fc.constantFrom('a@b.io', 'Nome', 1, null),
      fc.array(tie('body'), { maxLength: 3 }),
      fc.dictionary(key, tie('body'), { maxKeys: 4 }),
    ),
  }));
  fc.assert(
    fc.property(fc.array(body, { maxLength: 3 }), (bodies) => {
      expect(mappingFaults({ preset: null, rules: suggestRules(bodies) })).toEqual([]);
    }),
  );
});
