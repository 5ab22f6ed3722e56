import type { ProblemCode } from '@leadgate/contract';
import type { Language } from './answer.ts';

/** What a visitor can do about a problem, which is less than a program can tell apart. */
type ProblemKind =
  'fields' | 'identity' | 'closed' | 'unknown' | 'elsewhere' | 'unreadable' | 'large' | 'later';

export interface Texts {
  thanks: { title: string; text: string };
  /** Of the page by which a consent is withdrawn: before, after, and if it cannot be. */
  consent: Record<'ask' | 'withdrawn' | 'unknown' | 'later', { title: string; text: string }>;
  withdraw: string;
  notSent: string;
  problems: Record<ProblemKind, string>;
  /** Browsers keep what was filled in. */
  back: string;
  /** By the last step of a JSON pointer. */
  fields: Record<string, string>;
  /** By the code of a field's error; `other` if there is none for it. */
  errors: Record<string, string> & { other: string };
}

const PROBLEM_KINDS: Partial<Record<ProblemCode, ProblemKind>> = {
  'invalid-lead': 'fields',
  'identity-required': 'identity',
  'link-closed': 'closed',
  'unknown-link': 'unknown',
  'origin-not-allowed': 'elsewhere',
  'malformed-json': 'unreadable',
  'malformed-form': 'unreadable',
  'empty-body': 'unreadable',
  'unsupported-media-type': 'unreadable',
  'body-too-large': 'large',
};

/** What to tell a visitor; whatever is not the form's fault may work later. */
export function problemKindOf(code: ProblemCode): ProblemKind {
  return PROBLEM_KINDS[code] ?? 'later';
}

const pt: Texts = {
  thanks: { title: 'Obrigado!', text: 'Recebemos seus dados.' },
  consent: {
    ask: {
      title: 'Retirar o consentimento',
      text: 'Você pode retirar o consentimento que deu para o uso dos seus dados. O que foi feito até agora com base nele continua válido.',
    },
    withdrawn: {
      title: 'Consentimento retirado',
      text: 'Registramos que você retirou o seu consentimento. Você pode fechar esta página.',
    },
    unknown: {
      title: 'Este link não é válido',
      text: 'Confira se o endereço está completo, como veio na mensagem.',
    },
    later: {
      title: 'Ainda não foi registrado',
      text: 'Não conseguimos registrar agora. Tente de novo em alguns instantes.',
    },
  },
  withdraw: 'Retirar o consentimento',
  notSent: 'Não foi possível enviar',
  problems: {
    fields: 'Confira estes campos:',
    identity: 'Informe e-mail ou telefone, para que possamos responder.',
    closed: 'Este formulário não recebe mais respostas.',
    unknown: 'Este formulário não existe mais.',
    elsewhere: 'Este formulário não pode ser enviado a partir desta página.',
    unreadable: 'O formulário chegou vazio ou não pôde ser lido.',
    large: 'O formulário é longo demais.',
    later: 'Não conseguimos receber seus dados agora. Tente de novo em alguns instantes.',
  },
  back: 'Use o botão Voltar do navegador: o que você preencheu continua lá.',
  fields: {
    email: 'E-mail',
    name: 'Nome',
    telephone: 'Telefone',
    document: 'CPF ou CNPJ',
    profession: 'Profissão',
    city: 'Cidade',
    state: 'Estado',
    instagram: 'Instagram',
    birthday: 'Data de nascimento',
    address: 'Endereço',
    street: 'Rua',
    number: 'Número',
    complement: 'Complemento',
    neighborhood: 'Bairro',
    zipCode: 'CEP',
    country: 'País',
    consent: 'Consentimento',
  },
  errors: {
    'not-an-email': 'não é um e-mail completo, como ana@example.com',
    'not-a-telephone': 'não é um telefone com DDD, de 8 a 15 dígitos',
    'not-a-document': 'não é um CPF (11 dígitos) ou CNPJ (14 caracteres)',
    'not-a-birthday': 'não é uma data de nascimento, como 1990-12-31',
    'too-long': 'é longo demais',
    other: 'não pode ser aceito assim',
  },
};

const en: Texts = {
  thanks: { title: 'Thank you!', text: 'We have your details.' },
  consent: {
    ask: {
      title: 'Withdraw your consent',
      text: 'You can withdraw the consent that you gave to the use of your data. What was done until now because of it stays lawful.',
    },
    withdrawn: {
      title: 'Consent withdrawn',
      text: 'We have recorded that you withdrew your consent. You can close this page.',
    },
    unknown: {
      title: 'This link is not valid',
      text: 'Please check that the address is whole, as it came in the message.',
    },
    later: {
      title: 'Not recorded yet',
      text: 'We could not record it now. Please try again in a moment.',
    },
  },
  withdraw: 'Withdraw my consent',
  notSent: 'It could not be sent',
  problems: {
    fields: 'Please check these fields:',
    identity: 'Give an email or a telephone, so that we can answer.',
    closed: 'This form no longer takes answers.',
    unknown: 'This form no longer exists.',
    elsewhere: 'This form cannot be sent from this page.',
    unreadable: 'The form arrived empty, or could not be read.',
    large: 'The form is too long.',
    later: 'We could not take your details now. Please try again in a moment.',
  },
  back: 'Use your browser’s Back button: what you filled in is still there.',
  fields: {
    email: 'Email',
    name: 'Name',
    telephone: 'Telephone',
    document: 'Document (CPF or CNPJ)',
    profession: 'Profession',
    city: 'City',
    state: 'State',
    instagram: 'Instagram',
    birthday: 'Birthday',
    address: 'Address',
    street: 'Street',
    number: 'Number',
    complement: 'Complement',
    neighborhood: 'Neighborhood',
    zipCode: 'Postal code',
    country: 'Country',
    consent: 'Consent',
  },
  errors: {
    'not-an-email': 'is not a whole email, such as ana@example.com',
    'not-a-telephone': 'is not a telephone with its area code, of 8 to 15 digits',
    'not-a-document': 'is not a CPF (11 digits) or a CNPJ (14 characters)',
    'not-a-birthday': 'is not a date of birth, such as 1990-12-31',
    'too-long': 'is too long',
    other: 'cannot be accepted as it is',
  },
};

const es: Texts = {
  thanks: { title: '¡Gracias!', text: 'Recibimos sus datos.' },
  consent: {
    ask: {
      title: 'Retirar el consentimiento',
      text: 'Puede retirar el consentimiento que dio para el uso de sus datos. Lo que se hizo hasta ahora con base en él sigue siendo válido.',
    },
    withdrawn: {
      title: 'Consentimiento retirado',
      text: 'Registramos que retiró su consentimiento. Puede cerrar esta página.',
    },
    unknown: {
      title: 'Este enlace no es válido',
      text: 'Compruebe que la dirección esté completa, como llegó en el mensaje.',
    },
    later: {
      title: 'Todavía no se registró',
      text: 'No pudimos registrarlo ahora. Inténtelo de nuevo en unos instantes.',
    },
  },
  withdraw: 'Retirar el consentimiento',
  notSent: 'No se pudo enviar',
  problems: {
    fields: 'Revise estos campos:',
    identity: 'Indique un correo o un teléfono, para que podamos responder.',
    closed: 'Este formulario ya no recibe respuestas.',
    unknown: 'Este formulario ya no existe.',
    elsewhere: 'Este formulario no se puede enviar desde esta página.',
    unreadable: 'El formulario llegó vacío o no se pudo leer.',
    large: 'El formulario es demasiado largo.',
    later: 'No pudimos recibir sus datos ahora. Inténtelo de nuevo en unos instantes.',
  },
  back: 'Use el botón Atrás del navegador: lo que escribió sigue allí.',
  fields: {
    email: 'Correo',
    name: 'Nombre',
    telephone: 'Teléfono',
    document: 'Documento (CPF o CNPJ)',
    profession: 'Profesión',
    city: 'Ciudad',
    state: 'Estado',
    instagram: 'Instagram',
    birthday: 'Fecha de nacimiento',
    address: 'Dirección',
    street: 'Calle',
    number: 'Número',
    complement: 'Complemento',
    neighborhood: 'Barrio',
    zipCode: 'Código postal',
    country: 'País',
    consent: 'Consentimiento',
  },
  errors: {
    'not-an-email': 'no es un correo completo, como ana@example.com',
    'not-a-telephone': 'no es un teléfono con código de área, de 8 a 15 dígitos',
    'not-a-document': 'no es un CPF (11 dígitos) ni un CNPJ (14 caracteres)',
    'not-a-birthday': 'no es una fecha de nacimiento, como 1990-12-31',
    'too-long': 'es demasiado largo',
    other: 'no se puede aceptar así',
  },
};

export const TEXTS: Record<Language, Texts> = { pt, en, es };
