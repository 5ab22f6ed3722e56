import { sampleSubmission } from '@leadgate/testkit';
import { expect, test } from 'vitest';
import { mask, shownTo } from './mask.ts';

test('of a submission a viewer sees when, where and what kind, and nothing of the person', () => {
  const submission = sampleSubmission(7, {
    notes: [{ field: '/customFields/maria@example.com', code: 'unknown-custom-field' }],
  });
  const masked = JSON.stringify(mask(submission));
  for (const value of ['maria', 'Maria', '80000007', 'Laranjeiras', '203.0.113', 'iPhone', 'manhã'])
    expect(masked).not.toContain(value);
  expect(masked).toContain(submission.id);
  expect(masked).toContain('unknown-custom-field');
});

test('keys that a sender chose are masked too', () => {
  expect(mask({ customFields: { 'ana@example.com': 'yes', b: 0 } })).toEqual({
    customFields: { '•••1': '•••', '•••2': '•••' },
  });
});

test('a field that nobody thought of is masked', () => {
  expect(mask({ leadId: 'a', newlyAdded: ['Ana', 1, true, null] })).toEqual({
    leadId: 'a',
    newlyAdded: ['•••', '•••', '•••', null],
  });
});

test('an operator sees one person as they are', () => {
  const submission = sampleSubmission();
  expect(shownTo('operator', submission, 'whole')).toBe(submission);
});

test('in a list nobody sees a telephone or a document, however and in whatever field it is written', () => {
  const row = {
    leadId: '12345678-1234-4123-8123-123456789012',
    name: 'Ana +55 (11) 91234-5678',
    email: '5511912345678@example.com',
    telephone: '11912345678',
    telephoneE164: '+5511912345678',
    document: '12ABC34501DE35',
    birthday: '1990-12-31',
    utmCampaign: '21345678901',
    attribution: { fbclid: '52998224725', landingPage: 'https://lp.example/?gclid=52998224725' },
    address: { zipCode: '01310100' },
    customFields: {
      cpf: '529.982.247-25',
      cnpj: '11.222.333/0001-81',
      fone: ['whats11912345678', 'tarde'],
      typed: 52998224725,
      income: 35000,
    },
    createdAt: new Date(0),
    identities: [{ key: 'phone:+5511912345678' }],
    body: '{"telephone":"11912345678"}',
  };
  const masked = shownTo('administrator', [row], 'list');
  expect(masked).toEqual([
    {
      ...row,
      name: 'Ana •••78',
      email: '•••78@example.com',
      attribution: { fbclid: '52998224725', landingPage: 'https://lp.example/?gclid=•••25' },
      telephone: '•••5678',
      telephoneE164: '•••5678',
      document: '•••35',
      customFields: {
        ...{ cpf: '•••25', cnpj: '•••81', fone: ['whats•••78', 'tarde'], typed: '•••25' },
        income: 35000,
      },
      identities: [{ key: 'phone:•••78' }],
      body: '•••',
    },
  ]);
});

test('what is there and what is not can still be told', () => {
  expect(mask({ email: 'ana@example.com', telephone: '5511987654321', city: null })).toEqual({
    email: 'a•••',
    telephone: '•••21',
    city: null,
  });
});
