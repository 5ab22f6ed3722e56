// Asks a security key, by SimpleWebAuthnBrowser: to sign in, and to be added on the account page.
const { startAuthentication, startRegistration } = globalThis.SimpleWebAuthnBrowser;
const say = (text) => {
  document.getElementById('key-says').textContent = text;
};

const signIn = document.getElementById('sign-in-key');
signIn?.addEventListener('submit', async (event) => {
  event.preventDefault();
  say('Touch your key, or do what the browser asks.');
  try {
    const optionsJSON = JSON.parse(signIn.dataset.options);
    const answer = await startAuthentication({ optionsJSON });
    signIn.elements.namedItem('answer').value = JSON.stringify(answer);
    signIn.submit();
  } catch (error) {
    say(`That did not work: ${error.message}`);
  }
});

async function post(path, body) {
  const answer = await fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.detail ?? said.title);
  return said;
}

const add = document.getElementById('add-key');
add?.addEventListener('submit', async (event) => {
  event.preventDefault();
  const { name, current } = Object.fromEntries(new FormData(add));
  try {
    const optionsJSON = await post('/api/me/security-keys', { current });
    say('Touch your key, or do what the browser asks.');
    const answer = await startRegistration({ optionsJSON });
    await post('/api/me/security-keys/confirm', { name, answer });
    location.reload();
  } catch (error) {
    say(`That did not work: ${error.message}`);
  }
});
