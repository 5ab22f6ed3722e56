// Asks a security key to sign in, by SimpleWebAuthnBrowser.
const { startAuthentication } = globalThis.SimpleWebAuthnBrowser;
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
