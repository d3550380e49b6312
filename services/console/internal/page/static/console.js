// The console's one script. As a shared worker it holds the one event stream
// that all tabs of the browser share, since browsers open no more than six
// connections to a host; in a page it puts what the stream brings into place.
"use strict";

// silence is how long a stream is believed on which not even a beat comes, hello
// how often a tab says that it is there, gone how long one that does not is still
// served: hidden tabs have slow timers. Milliseconds.
const silence = 25_000;
const hello = 20_000;
const gone = 180_000;

// Stream brings tabs what they watch. A tab is a message port.
class Stream {
  tabs = new Map(); // port -> {topic, heard}
  latest = new Map(); // topic -> its newest fragment
  state = "connecting";
  source = null;
  watched = "";
  delay = 0;
  heard = 0; // when the server was heard from last
  opened = 0;

  constructor() {
    setInterval(() => this.check(), 5_000);
    addEventListener("online", () => this.state === "lost" && this.open());
  }

  join(port) {
    port.onmessage = ({ data }) => {
      if (data.leave) {
        this.tabs.delete(port);
      } else {
        const known = this.tabs.get(port)?.topic === data.watch;
        this.tabs.set(port, { topic: data.watch, heard: Date.now() });
        if (!known) {
          port.postMessage({ state: this.state, heard: this.heard });
          if (this.latest.has(data.watch)) port.postMessage({ html: this.latest.get(data.watch) });
        }
      }
      clearTimeout(this.settling);
      this.settling = setTimeout(() => this.settle(), 50);
    };
  }

  topics() {
    return [...new Set([...this.tabs.values()].map((tab) => tab.topic))].sort();
  }

  // settle opens the stream anew when the tabs watch something else than it brings.
  settle() {
    const topics = this.topics();
    for (const topic of this.latest.keys()) if (!topics.includes(topic)) this.latest.delete(topic);
    if (topics.join(" ") !== this.watched && this.state !== "lost") this.open();
  }

  open() {
    clearTimeout(this.retry);
    this.source?.close();
    this.source = null;
    const topics = this.topics();
    this.watched = topics.join(" ");
    if (topics.length === 0) return;
    const source = new EventSource("/events?" + topics.map((t) => "watch=" + encodeURIComponent(t)).join("&"));
    this.source = source;
    this.opened = Date.now();
    source.onopen = () => { this.delay = 0; this.heard = Date.now(); this.tell("live"); };
    source.onerror = () => this.source === source && this.lose();
    source.addEventListener("beat", () => { this.heard = Date.now(); });
    for (const topic of topics) {
      source.addEventListener(topic, ({ data }) => {
        this.heard = Date.now();
        this.latest.set(topic, data);
        for (const [port, tab] of this.tabs) if (tab.topic === topic) port.postMessage({ html: data });
      });
    }
  }

  // lose gives up a stream and tries again, less often the longer it takes.
  lose() {
    this.source?.close();
    this.source = null;
    this.tell("lost");
    this.delay = Math.min(10_000, this.delay ? this.delay * 2 : 1_000);
    clearTimeout(this.retry);
    this.retry = setTimeout(() => this.open(), this.delay * (0.75 + Math.random() / 2));
  }

  check() {
    const now = Date.now();
    for (const [port, tab] of this.tabs) if (now - tab.heard > gone) this.tabs.delete(port);
    this.settle();
    if (this.source && now - Math.max(this.heard, this.opened) > silence) this.lose();
  }

  tell(state) {
    if (state === this.state) return;
    this.state = state;
    for (const port of this.tabs.keys()) port.postMessage({ state, heard: this.heard });
  }
}

// morph makes an element like another and leaves alone what is alike, so that
// focus, selection and reading position stay.
function morph(old, now) {
  if (old.isEqualNode(now)) return;
  if (old.nodeName !== now.nodeName || (old.id ?? "") !== (now.id ?? "")) {
    old.replaceWith(now);
    return;
  }
  if (old.nodeType !== Node.ELEMENT_NODE) {
    old.nodeValue = now.nodeValue;
    return;
  }
  for (const { name } of [...old.attributes]) if (!now.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of now.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  const byId = new Map([...old.children].filter((c) => c.id).map((c) => [c.id, c]));
  const wanted = new Set([...now.children].map((c) => c.id).filter(Boolean));
  let at = old.firstChild;
  for (const child of [...now.childNodes]) {
    while (at?.id && !wanted.has(at.id)) { const next = at.nextSibling; at.remove(); at = next; }
    const match = child.id && byId.get(child.id);
    if (match && match !== at) {
      old.insertBefore(match, at);
      morph(match, child);
    } else if (match || (at && !at.id && !child.id && at.nodeName === child.nodeName)) {
      const next = at.nextSibling;
      morph(at, child);
      at = next;
    } else {
      old.insertBefore(child, at);
    }
  }
  while (at) { const next = at.nextSibling; at.remove(); at = next; }
}

const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

// localise says times in the reader's zone, and how long ago they were.
function localise(root) {
  for (const t of root.querySelectorAll("time[data-age], time[data-clock]")) {
    const then = new Date(t.dateTime);
    const local = whole.format(then);
    const seconds = Math.max(0, Math.floor((Date.now() - then) / 1000));
    const [unit, size] = units.find(([, size]) => seconds >= size) ?? ["s", 1];
    const text = "clock" in t.dataset ? local : Math.floor(seconds / size) + " " + unit + " ago";
    if (t.textContent !== text) t.textContent = text;
    if (t.title !== local) t.title = local;
  }
}

function page() {
  localise(document);
  setInterval(() => localise(document), 1_000);
  const topic = document.getElementById("live")?.dataset.watch;
  if (!topic) return;

  const link = document.getElementById("link");
  let port;
  const loaded = Date.now();
  const say = (state, heard) => {
    if (state === link.dataset.state) return;
    link.dataset.state = state;
    document.body.dataset.link = state;
    link.textContent = {
      live: "Live",
      connecting: "Connecting…",
      lost: "Connection lost. You see what was at " + new Date(heard || loaded).toLocaleTimeString() + "; trying again…",
    }[state];
  };
  const receive = ({ data }) => {
    if (data.state) say(data.state, data.heard);
    if (!data.html) return;
    const now = new DOMParser().parseFromString(data.html, "text/html").getElementById("live");
    const live = document.getElementById("live");
    if (!now || now.dataset.watch !== topic) return;
    localise(now);
    morph(live, now);
    document.title = now.dataset.title;
  };
  const greet = () => port.postMessage({ watch: topic });
  const own = () => {
    const pair = new MessageChannel();
    new Stream().join(pair.port1);
    return pair.port2;
  };
  const use = (p) => { port = p; port.onmessage = receive; greet(); };

  say("connecting");
  if (window.SharedWorker) {
    const worker = new SharedWorker(script, "sabha");
    worker.onerror = () => use(own()); // browsers may refuse workers; the page then has a stream of its own
    use(worker.port);
  } else {
    use(own());
  }
  setInterval(greet, hello);
  addEventListener("pagehide", () => port.postMessage({ leave: true }));
  addEventListener("pageshow", greet);
  document.addEventListener("visibilitychange", greet);
}

const script = typeof document === "undefined" ? "" : document.currentScript.src;
if (typeof document === "undefined") {
  const stream = new Stream();
  addEventListener("connect", ({ ports }) => stream.join(ports[0]));
} else {
  page();
}
