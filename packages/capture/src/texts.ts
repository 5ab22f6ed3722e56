/** What a visitor reads. */
export interface Texts {
  accepted: string;
  kept: string;
  rejected: string;
  identity: string;
  /** Beside a field; undefined if the service's own words are in this language. */
  field?: string;
}

const pt: Texts = {
  accepted: 'Recebemos seus dados. Obrigado!',
  kept: 'Sem conexão. Enviaremos assim que possível.',
  rejected: 'Não foi possível enviar.',
  identity: 'Informe e-mail ou telefone.',
  field: 'Confira este campo.',
};

const es: Texts = {
  accepted: 'Recibimos sus datos. ¡Gracias!',
  kept: 'Sin conexión. Enviaremos en cuanto sea posible.',
  rejected: 'No se pudo enviar.',
  identity: 'Indique correo o teléfono.',
  field: 'Revise este campo.',
};

const en: Texts = {
  accepted: 'We have your details. Thank you!',
  kept: 'No connection. We will send it as soon as possible.',
  rejected: 'It could not be sent.',
  identity: 'Give an email or telephone.',
};

const OTHERS: { [language: string]: Texts } = { en, es };

/** The texts for a language tag such as `en-GB`; Portuguese if it is none of ours. */
export function textsFor(language: string): Texts {
  return OTHERS[language.slice(0, 2).toLowerCase()] || pt;
}
