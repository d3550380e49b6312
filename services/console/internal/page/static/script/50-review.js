// The review desk: keys that arm a decision, the preview of an edit, batches.
{
// A key of a button with data-arm only gets ready for it, since a decision is taken
// once: the focus goes to the button, or to the field that it needs. Enter on the
// button decides, as does Ctrl+Enter in the field.
let armed;
document.addEventListener("click", (e) => {
  const button = e.target.closest?.("[data-arm]");
  if (!button || e.isTrusted) return;
  e.preventDefault();
  armed = button;
  const form = button.form;
  form.dataset.armed = button.value;
  (button.dataset.arm ? form.querySelector("#" + button.dataset.arm) : button).focus();
}, true);
document.addEventListener("keydown", (e) => {
  if (e.key !== "Enter" || !(e.ctrlKey || e.metaKey) || !e.target.form) return;
  const form = e.target.form;
  const button = armed?.isConnected && armed.form === form ? armed : form.querySelector("[value=edited][data-arm]");
  if (!button && form.querySelector("[data-arm]")) return; // neither approval nor rejection was meant yet
  e.preventDefault();
  form.requestSubmit(button ?? undefined);
});

// An item that changes under the reader says so: the decision is for what was shown.
function noticeChange() {
  const item = document.querySelector("article.reviewed");
  const shown = document.querySelector("#decide input[name=digest]");
  if (item && shown) item.querySelector(".changed").hidden = shown.value === item.dataset.digest;
}
document.addEventListener("put", noticeChange);

// The list: the row of the item is in sight, and j and k begin there.
const current = document.querySelector(".desk-list [data-row][aria-current]");
if (current) {
  const list = current.closest(".desk-list");
  const box = current.getBoundingClientRect(), around = list.getBoundingClientRect();
  if (box.bottom > Math.min(around.bottom, innerHeight) || box.top < around.top) list.scrollTop += box.top - around.top - list.clientHeight / 3;
}

// Filters apply as soon as they are chosen.
document.addEventListener("change", (e) => {
  const form = e.target.closest?.("[data-filter]");
  if (form && e.target.matches("select")) form.requestSubmit();
});

// Batches: items of one kind are selected with the space bar, whichever item is open.
const picks = () => document.querySelector("[data-picks]");
const remembered = () => new Set(JSON.parse(sessionStorage.getItem("picks") ?? "[]"));
function showPicks() {
  const form = picks();
  if (!form) return;
  const chosen = remembered();
  const boxes = [...form.querySelectorAll("input.pick")];
  for (const b of boxes) b.checked = chosen.has(b.value);
  const picked = boxes.filter((b) => b.checked);
  const kind = picked[0]?.dataset.batch;
  for (const b of boxes) {
    b.disabled = kind !== undefined && b.dataset.batch !== kind;
    b.title = b.disabled ? "Of another kind than what is selected" : "";
  }
  form.querySelector(".picked").hidden = picked.length === 0;
  form.querySelector("[data-picked]").textContent = picked.length + " selected";
}
function pick(box, on) {
  const chosen = remembered();
  if (on) chosen.add(box.value); else chosen.delete(box.value);
  const there = new Set([...picks().querySelectorAll("input.pick")].map((b) => b.value));
  sessionStorage.setItem("picks", JSON.stringify([...chosen].filter((id) => there.has(id))));
  showPicks();
}
document.addEventListener("change", (e) => e.target.matches?.("input.pick") && pick(e.target, e.target.checked));
document.addEventListener("keydown", (e) => {
  if (e.key !== " " || e.ctrlKey || e.metaKey || e.altKey || !keysOn() || document.querySelector("dialog[open]")) return;
  const row = e.target.closest?.(".item-line") ?? (e.target === document.body ? document.querySelector(".item-line:has([aria-current])") : null);
  const box = row?.querySelector("input.pick");
  if (!box || e.target === box) return;
  e.preventDefault();
  if (!box.disabled) pick(box, !box.checked);
});
document.addEventListener("submit", (e) => "picks" in e.target.dataset && sessionStorage.removeItem("picks"));
document.addEventListener("put", showPicks);
showPicks();

// The table of a batch: how many are selected, and all or none.
function countRows() {
  const n = document.querySelector("[data-picked-rows]");
  if (n) n.textContent = document.querySelectorAll(".batch-table input[name=item]:checked").length;
}
document.addEventListener("change", (e) => e.target.closest?.(".batch-table") && countRows());
document.addEventListener("put", countRows);
document.addEventListener("click", (e) => {
  if (!e.target.closest?.("[data-all]")) return;
  const boxes = [...document.querySelectorAll(".batch-table input[name=item]")];
  const on = boxes.some((b) => !b.checked);
  for (const b of boxes) b.checked = on;
  countRows();
});

// What an edit changes is shown while it is written.
let previewing;
function preview() {
  const editing = document.querySelector("[data-editing]");
  const form = document.getElementById("decide");
  if (!editing || !form) return;
  clearTimeout(previewing);
  previewing = setTimeout(async () => {
    const answer = await fetch(editing.dataset.editing, { method: "POST", body: new URLSearchParams(new FormData(form)), headers: { "Sabha-Part": "preview" } }).catch(() => null);
    if (!answer?.ok) return;
    const now = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector(".previewed");
    if (now) document.getElementById("changes").replaceChildren(now);
  }, 250);
}
document.addEventListener("input", (e) => e.target.closest?.("[data-editing]") && preview());
document.querySelector("[data-editing] [autofocus]")?.focus();
}
