// Keeps a page true: it puts what the stream brings into place.
"use strict";

// idOf is the id of a node; the property of a form may be a field of that name.
const idOf = (node) => node?.getAttribute?.("id") ?? "";

// morph makes an element like another and leaves alone what is alike, so that
// focus, selection and reading position stay. What has data-keep is the page's
// own; what a reader has opened stays open.
function morph(old, now) {
  if (old.isEqualNode(now)) return;
  if (old.nodeName !== now.nodeName || idOf(old) !== idOf(now)) {
    old.replaceWith(now);
    return;
  }
  if (old.nodeType !== Node.ELEMENT_NODE) {
    old.nodeValue = now.nodeValue;
    return;
  }
  if ("keep" in old.dataset && old.dataset.keep === now.dataset.keep) return;
  const opens = old.nodeName === "DETAILS" || old.nodeName === "DIALOG";
  const mine = (name) => (opens && name === "open") || name === "data-own" || old.dataset.own?.split(" ").includes(name);
  for (const { name } of [...old.attributes]) if (!now.hasAttribute(name) && !mine(name)) old.removeAttribute(name);
  for (const { name, value } of now.attributes) if (!mine(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  const byId = new Map([...old.children].filter(idOf).map((c) => [idOf(c), c]));
  const wanted = new Set([...now.children].map(idOf).filter(Boolean));
  const own = (node) => node.dataset && "keep" in node.dataset && !wanted.has(idOf(node)); // the page has added it itself
  let at = old.firstChild;
  for (const child of [...now.childNodes]) {
    while (idOf(at) && !wanted.has(idOf(at)) && !own(at)) { const next = at.nextSibling; at.remove(); at = next; }
    while (at && own(at)) at = at.nextSibling;
    const match = idOf(child) && byId.get(idOf(child));
    if (match && match !== at) {
      old.insertBefore(match, at);
      morph(match, child);
    } else if (match || (at && !idOf(at) && !idOf(child) && at.nodeName === child.nodeName)) {
      const next = at.nextSibling;
      morph(at, child);
      at = next;
    } else {
      old.insertBefore(child, at);
    }
  }
  while (at) { const next = at.nextSibling; if (!own(at)) at.remove(); at = next; }
}

const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

// span says a time in its two greatest units.
function span(seconds) {
  const i = units.findIndex(([, size]) => seconds >= size);
  if (i < 0) return "0 s";
  const [unit, size] = units[i];
  const first = Math.floor(seconds / size) + " " + unit;
  const next = units[i + 1];
  const rest = next && Math.floor((seconds % size) / next[1]);
  return rest ? first + " " + rest + " " + next[0] : first;
}

// localise says times in the reader's zone: how long ago, or how long until.
function localise(root) {
  for (const t of root.querySelectorAll("time[data-age], time[data-for], time[data-clock], time[data-until]")) {
    const then = new Date(t.dateTime);
    const local = whole.format(then);
    const passed = Math.floor((Date.now() - then) / 1000);
    let text = local;
    if ("age" in t.dataset) {
      const seconds = Math.max(0, passed);
      const [unit, size] = units.find(([, size]) => seconds >= size) ?? ["s", 1];
      text = Math.floor(seconds / size) + " " + unit + " ago";
    } else if ("for" in t.dataset) {
      text = span(Math.max(0, passed));
    } else if ("until" in t.dataset) {
      text = passed <= 0 ? "in " + span(-passed) : (t.dataset.until || "overdue by ") + span(passed);
      if (passed > 0) t.dataset.past = ""; else delete t.dataset.past;
    }
    if (t.textContent !== text) t.textContent = text;
    if (t.title !== local) t.title = local;
  }
}

// put brings the content of the page up to date. Whoever needs to do something
// afterwards listens for "put" on the document.
function put(html, topic) {
  const now = new DOMParser().parseFromString(html, "text/html").getElementById("live");
  const live = document.getElementById("live");
  if (!now || now.dataset.watch !== topic) return;
  localise(now);
  morph(live, now);
  if (now.dataset.title) document.title = now.dataset.title;
  document.dispatchEvent(new Event("put"));
}

const loaded = Date.now();
const hello = 20_000; // how often a tab tells the worker that it is there, milliseconds
const pollEvery = 4_000; // where tabs cannot share a stream, milliseconds

// say tells the reader whether the page is live.
function say(state, heard) {
  const link = document.getElementById("link");
  if (!link || state === link.dataset.state) return;
  link.dataset.state = state;
  document.body.dataset.link = state;
  link.textContent = {
    live: "Live",
    polling: "Live, every few seconds",
    connecting: "Connecting…",
    ended: "Signed out. Load the page again to sign in.",
    lost: "Connection lost at " + new Date(heard || loaded).toLocaleTimeString() + "; trying again…",
  }[state];
}

// share watches over the stream that tabs share.
function share(topic) {
  const worker = new SharedWorker(script.dataset.worker, "sabha");
  const port = worker.port;
  const greet = () => port.postMessage({ watch: topic });
  worker.onerror = () => poll(topic); // browsers may refuse workers
  port.onmessage = ({ data }) => {
    if (data.state) say(data.state, data.heard);
    if (data.html) put(data.html, topic);
  };
  greet();
  setInterval(greet, hello);
  addEventListener("pagehide", () => port.postMessage({ leave: true }));
  addEventListener("pageshow", greet);
  document.addEventListener("visibilitychange", greet);
}

// poll asks for the page again and again: a stream of its own for each tab would
// leave none for the seventh.
function poll(topic) {
  let heard = loaded;
  let asking = false;
  const ask = async () => {
    if (asking || document.hidden) return;
    asking = true;
    try {
      const answer = await fetch(topic, { headers: { "Sabha-Part": "live" }, cache: "no-store", signal: AbortSignal.timeout(15_000) });
      if (answer.redirected || answer.status === 401) {
        say("ended");
      } else {
        put(await answer.text(), topic);
        heard = Date.now();
        say("polling");
      }
    } catch {
      say("lost", heard);
    } finally {
      asking = false;
    }
  };
  setInterval(ask, pollEvery);
  document.addEventListener("visibilitychange", ask);
  ask();
}

const script = document.currentScript;
localise(document);
setInterval(() => localise(document), 1_000);
const topic = document.getElementById("live")?.dataset.watch;
if (topic) {
  say("connecting");
  if (window.SharedWorker) share(topic); else poll(topic);
}
