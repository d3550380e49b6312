// A shared worker: it holds the one event stream that all tabs of the browser
// share, since browsers open no more than six connections to a host.
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
        if (!known && this.state === "ended") { this.state = "connecting"; this.watched = ""; } // somebody may have signed in
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
    if (topics.join(" ") !== this.watched && this.state !== "lost" && this.state !== "ended") this.open();
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
    source.addEventListener("ended", () => this.source === source && this.end());
    source.addEventListener("beat", () => { this.heard = Date.now(); });
    for (const topic of topics) {
      source.addEventListener(topic, ({ data }) => {
        this.heard = Date.now();
        this.latest.set(topic, data);
        for (const [port, tab] of this.tabs) if (tab.topic === topic) port.postMessage({ html: data });
      });
    }
  }

  // end gives up for good: nobody is signed in.
  end() {
    clearTimeout(this.retry);
    this.source?.close();
    this.source = null;
    this.tell("ended");
  }

  // lose gives up a stream and tries again, less often the longer it takes.
  lose() {
    this.source?.close();
    this.source = null;
    this.tell("lost");
    // An event source does not say why it failed.
    fetch("/events", { method: "HEAD" }).then((answer) => answer.status === 401 && this.end(), () => {});
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

const stream = new Stream();
addEventListener("connect", ({ ports }) => stream.join(ports[0]));
