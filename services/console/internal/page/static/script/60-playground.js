{
// The playground sends with fetch and shows the events of the answer, one a line,
// as they come. Everything that comes is text.
const form = document.querySelector("[data-play]");
if (form) {
  const part = (name) => document.querySelector(`[data-play-${name}]`);
  const element = (tag, className, text) => {
    const e = document.createElement(tag);
    if (className) e.className = className;
    if (text !== undefined) e.textContent = text;
    return e;
  };
  let sending = null;
  let count = 0;

  const state = (text) => { part("state").textContent = text; };
  const show = (event) => {
    part("none").hidden = true;
    if (event.task) {
      form.elements.task.value = ["input-required", "auth-required"].includes(event.state) ? event.task : "";
      const link = part("task");
      if (form.elements.agent.value === "planner") { link.href = "/tasks/" + encodeURIComponent(event.task); link.hidden = false; }
    }
    if (event.context) form.elements.context.value = event.context;
    if (event.context) form.querySelector("[data-anew]").hidden = false;
    if (event.state) state(event.state.replaceAll("-", " "));
    if (event.text || event.kind === "error") {
      const li = element("li", "play-" + event.kind);
      li.append(element("small", "", event.kind === "status" ? event.state?.replaceAll("-", " ") : event.kind));
      const p = element("p", "said", event.text);
      p.dir = "auto";
      li.append(p);
      part("said").append(li);
      li.scrollIntoView({ block: "nearest" });
    }
    if (event.raw) {
      count++;
      part("count").textContent = count + (count === 1 ? " event" : " events");
      const li = element("li");
      const details = element("details");
      details.append(element("summary", "", event.kind + (event.state ? " · " + event.state : "")));
      const pre = element("pre");
      pre.append(element("code", "", JSON.stringify(event.raw, null, 2)));
      details.append(pre);
      details.open = count === 1;
      li.append(details);
      part("raw").append(li);
    }
  };

  form.addEventListener("submit", async (e) => {
    e.preventDefault();
    sending?.abort();
    sending = new AbortController();
    const mine = sending;
    const body = new FormData(form);
    const text = form.elements.text.value.trim();
    const li = element("li", "play-own");
    li.append(element("small", "", "you"), element("p", "said", text || "data"));
    part("said").append(li);
    part("none").hidden = true;
    const stop = form.querySelector("[data-stop]");
    stop.hidden = false;
    state("sending");
    try {
      const answer = await fetch(form.action, { method: "POST", body, signal: mine.signal, headers: { "X-CSRF-Token": form.elements.csrf.value } });
      if (!answer.headers.get("Content-Type")?.startsWith("application/x-ndjson")) {
        throw new Error(answer.status === 401 ? "You are signed out. Load the page again to sign in." : "The console did not take it (" + answer.status + ").");
      }
      form.elements.text.value = "";
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        const lines = (rest + value).split("\n");
        rest = lines.pop();
        for (const line of lines) if (line) show(JSON.parse(line));
      }
      if (part("state").textContent === "sending") state("answered");
    } catch (problem) {
      if (mine.signal.aborted) state("not listening; the task goes on");
      else show({ kind: "error", text: problem instanceof TypeError ? "The connection was lost. The task goes on; find it under Tasks." : problem.message });
    } finally {
      if (sending === mine) stop.hidden = true;
    }
  });
  form.addEventListener("click", (e) => {
    const example = e.target.closest("[data-example]");
    if (example) { form.elements.text.value = example.dataset.example; form.elements.text.focus(); }
    if (e.target.closest("[data-stop]")) sending?.abort();
    if (e.target.closest("[data-anew]")) {
      form.elements.context.value = "";
      form.elements.task.value = "";
      part("said").replaceChildren();
      part("raw").replaceChildren();
      count = 0;
      part("count").textContent = "0 events";
      part("none").hidden = false;
      part("task").hidden = true;
      state("");
      e.target.closest("[data-anew]").hidden = true;
    }
  });
  form.elements.agent.addEventListener("change", () => location.assign("/playground?agent=" + encodeURIComponent(form.elements.agent.value)));
}
}
