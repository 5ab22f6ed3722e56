import { type Answered, askedFirst } from './asked.ts';

// Stands in the page itself (see build.js): it asks for what is shown first, while the application is on its way.
const answered = JSON.parse(document.getElementById('answers')?.textContent ?? '{}') as Answered;

globalThis.leadgate = {
  answered,
  begun: askedFirst(location, answered).map(({ url, body }) => ({
    ...{ url, body },
    answer: fetch(
      url,
      body === '' ? {} : { method: 'POST', body, headers: { 'content-type': 'application/json' } },
    ),
  })),
};
for (const one of globalThis.leadgate.begun)
  one.answer
    .then(async (answer) => {
      if (answer.ok) one.data = await answer.clone().json();
    })
    // Who takes the answer is told.
    .catch(() => {});
