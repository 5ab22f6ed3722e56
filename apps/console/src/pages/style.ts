import { createHash } from 'node:crypto';

/** The one style sheet: small screens first, light and dark. */
export const STYLE = `
:root{color-scheme:light dark;--ink:#16202b;--soft:#5b6875;--line:#dbe1e8;--back:#f5f7f9;--card:#fff;--link:#0b5cad;--good:#0d6b45;--warn:#8a5300;--bad:#b3261e}
@media(prefers-color-scheme:dark){:root{--ink:#e6ebf0;--soft:#9aa7b4;--line:#2c3742;--back:#10161c;--card:#18212a;--link:#7db8f5;--good:#5cc79a;--warn:#e5b062;--bad:#f2897f}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--ink);font:16px/1.45 system-ui,sans-serif}
a{color:var(--link)}
header{background:var(--card);border-bottom:1px solid var(--line)}
header>div,main{max-width:72rem;margin:0 auto;padding:.75rem 1rem}
header>div{display:flex;flex-wrap:wrap;gap:.25rem 1rem;align-items:center}
header b{margin-right:auto}
nav{display:flex;gap:.15rem;overflow-x:auto;order:3;width:100%}
nav a{padding:.5rem .7rem;text-decoration:none;border-radius:.4rem;white-space:nowrap}
nav a[aria-current]{background:var(--back);color:var(--ink);font-weight:600}
h1{font-size:1.35rem;margin:.75rem 0}
h2{font-size:1.05rem;margin:1.5rem 0 .5rem}
.who{color:var(--soft);font-size:.9rem}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.6rem}
.card{background:var(--card);border:1px solid var(--line);border-radius:.6rem;padding:.7rem .85rem}
.card span{display:block;color:var(--soft);font-size:.85rem}
.card strong{font-size:1.5rem;font-variant-numeric:tabular-nums}
.good{color:var(--good)}.warn{color:var(--warn)}.bad{color:var(--bad)}.soft{color:var(--soft)}
.note{background:var(--card);border:1px solid var(--line);border-left:.3rem solid var(--warn);border-radius:.4rem;padding:.6rem .85rem;margin:.75rem 0}
pre{overflow-x:auto;white-space:pre-wrap;overflow-wrap:anywhere;font:.85rem/1.5 ui-monospace,monospace}
.note.bad{border-left-color:var(--bad)}
.scroll{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:.6rem}
table{border-collapse:collapse;width:100%;font-size:.93rem}
th,td{text-align:left;padding:.5rem .75rem;border-bottom:1px solid var(--line);vertical-align:top}
tr:last-child td{border-bottom:0}
th{color:var(--soft);font-weight:500;white-space:nowrap}
td.id,code{font:.85rem/1.5 ui-monospace,monospace;overflow-wrap:anywhere}
time{white-space:nowrap;font-variant-numeric:tabular-nums}
form.inline{display:inline}
form.search{display:flex;gap:.5rem;margin:.75rem 0}
label{display:block;margin:.9rem 0 .25rem;font-weight:500}
input{width:100%;padding:.65rem .75rem;font:inherit;color:inherit;background:var(--card);border:1px solid var(--soft);border-radius:.45rem}
input[type=checkbox]{width:auto;margin:0 .5rem 0 0}
input[type=file]{padding:.45rem .5rem}
select,textarea{width:100%;padding:.65rem .75rem;font:inherit;color:inherit;background:var(--card);border:1px solid var(--soft);border-radius:.45rem}
label.check{font-weight:400;display:flex;align-items:baseline}
fieldset{border:1px solid var(--line);border-radius:.6rem;margin:1.25rem 0;padding:.25rem .85rem 1rem}
fieldset.bare{border:0;margin:0;padding:0}
legend{padding:0 .35rem;font-weight:600}
details{margin:.9rem 0}summary{cursor:pointer;color:var(--link)}
progress{width:100%;height:1rem;accent-color:var(--link)}
ul.plain{list-style:none;padding:0;margin:0}ul.plain li{padding:.25rem 0;border-bottom:1px solid var(--line)}
.tabs{display:flex;gap:1rem;flex-wrap:wrap}.tabs a[aria-current]{color:var(--ink);font-weight:600;text-decoration:none}
button.second{background:none;color:var(--link);border:1px solid var(--link)}
a.button{display:inline-block;padding:.6rem 1rem;font-weight:600;color:#fff;background:#0b5cad;border-radius:.45rem;text-decoration:none}
[hidden]{display:none}
button{padding:.6rem 1rem;font:inherit;font-weight:600;color:#fff;background:#0b5cad;border:0;border-radius:.45rem;cursor:pointer}
button.quiet{color:var(--link);background:none;padding:.25rem .4rem}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.door{max-width:24rem;margin:8vh auto;padding:1.5rem}
.door button{width:100%;margin-top:1.25rem}
@media(max-width:40rem){
.stack thead{display:none}
.stack tr{display:block;padding:.4rem 0;border-bottom:1px solid var(--line)}
.stack td{display:flex;gap:.75rem;border:0;padding:.2rem .75rem}
.stack td::before{content:attr(data-label);flex:0 0 6.5rem;color:var(--soft)}
}
`;

/** As a source of the content security policy: this sheet and no other. */
export const STYLE_SOURCE = `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`;
