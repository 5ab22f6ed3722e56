/**
 * The bodies that every variant gets: a form of about 450 bytes, half of them from people the servers
 * know. A number is a person, always the same one.
 */

/** New people start here, far above the known ones. */
const FIRST_NEW = 20_000_000;

/** @param {number} n a person, below 100 million */
export const emailOf = (n) => `maria.silva.${n.toString()}@example.com`;

/** @param {number} n a person, below 100 million */
const mobileOf = (n) => n.toString().padStart(8, '0');

/** E.164. @param {number} n a person, below 100 million */
export const phoneOf = (n) => `+55119${mobileOf(n)}`;

/**
 * The body of a person, as a landing page's form sends it.
 * @param {number} n
 */
export function bodyOf(n) {
  const digits = mobileOf(n);
  return (
    `{"name":"Maria Aparecida da Silva ${n.toString()}","email":"${emailOf(n)}",` +
    `"telephone":"+55 (11) 9${digits.slice(0, 4)}-${digits.slice(4)}","document":"123.456.789-09",` +
    '"profession":"Engenheira de software","city":"São José do Rio Preto","state":"SP",' +
    '"birthday":"1990-04-23","address":{"street":"Rua das Laranjeiras","number":"123",' +
    '"zipCode":"01310-100"},"utmSource":"instagram","utmMedium":"cpc",' +
    `"utmCampaign":"lancamento-${(n % 40).toString()}",` +
    '"customFields":{"plano":"pro","horario":"manhã"}}'
  );
}

let started = 0;

/**
 * The people of one measurement: by turns a new one, whom no other measurement has, and a known one.
 * @param {number} known
 * @returns {() => number}
 */
export const people = (known) => peopleFrom({ first: nextFirst(), known });

/**
 * @param {{ first: number, known: number }} range
 * @returns {() => number}
 */
export function peopleFrom({ first, known }) {
  let i = 0;
  return () => {
    i += 1;
    // A prime step walks over all of the known, in no order that an index likes.
    return i % 2 === 0 ? first + i / 2 : (i * 7_919) % known;
  };
}

/** Where the next measurement's new people start, for a load process of its own. */
export function nextFirst() {
  return FIRST_NEW + started++ * 500_000;
}
