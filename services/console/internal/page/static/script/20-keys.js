// The keyboard: what has data-key is clicked, or focused when it takes text, by
// that key or those keys one after another ("g t"). Rows with data-row are gone
// through with j and k.
const keysOn = () => localStorage.getItem("keys") !== "off";
let before = ""; // the first key of two
let beforeAt = 0;

function typing(target) {
  return target.isContentEditable || target.matches("textarea, select, input:not([type=checkbox], [type=radio], [type=button], [type=submit])");
}

function shown(element) {
  return element.checkVisibility?.() ?? element.offsetParent !== null;
}

// bound finds what a key is for: in the open dialog when there is one.
function bound(key) {
  const root = document.querySelector("dialog[open]") ?? document;
  const all = [...root.querySelectorAll("[data-key]")].filter((e) => e.dataset.key.split(",").includes(key));
  return all.find(shown) ?? all.find((e) => e.closest("details:not([open])") && !e.closest("[hidden]"));
}

function rows() {
  return [...document.querySelectorAll("[data-row]")].filter(shown);
}

// step goes to the row after or before the one that has the focus.
function step(by) {
  const all = rows();
  if (all.length === 0) return;
  const at = all.findIndex((r) => r === document.activeElement || r.contains(document.activeElement));
  const next = all[Math.max(0, Math.min(all.length - 1, at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by))];
  (next.matches("a, button, [tabindex]") ? next : next.querySelector("a, button"))?.focus();
  next.scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", (e) => {
  if (e.defaultPrevented || e.isComposing || e.ctrlKey || e.metaKey || e.altKey) return;
  if (typing(e.target)) {
    if (e.key === "Escape") e.target.blur();
    return;
  }
  if (!keysOn() && e.key !== "?") return;
  const two = before && e.timeStamp - beforeAt < 1_200 ? before + " " + e.key : "";
  before = "";
  const element = (two && bound(two)) || bound(e.key);
  if (element) {
    e.preventDefault();
    if (element.matches("input:not([type=checkbox], [type=radio]), textarea, select")) { element.focus(); element.select?.(); } else element.click();
    return;
  }
  if (document.querySelector("dialog[open]")) return;
  if (e.key === "j" || e.key === "k") {
    e.preventDefault();
    step(e.key === "j" ? 1 : -1);
  } else if (e.key.length === 1 && document.querySelector(`[data-key^="${CSS.escape(e.key)} "]`)) {
    before = e.key;
    beforeAt = e.timeStamp;
  }
});

// The list of shortcuts is that of the page as it is.
function listKeys() {
  const list = document.getElementById("keys-list");
  list.replaceChildren();
  const entry = (keys, label) => {
    const dt = document.createElement("dt");
    keys.split(",")[0].split(" ").forEach((k, i) => {
      if (i) dt.append(" ");
      const kbd = document.createElement("kbd");
      kbd.textContent = k;
      dt.append(kbd);
    });
    const dd = document.createElement("dd");
    dd.textContent = label;
    list.append(dt, dd);
  };
  const seen = new Set();
  for (const e of document.querySelectorAll("[data-key]")) {
    const label = e.dataset.keyLabel || e.getAttribute("aria-label") || e.textContent.trim();
    if (seen.has(e.dataset.key) || !label) continue;
    seen.add(e.dataset.key);
    entry(e.dataset.key, label);
  }
  if (rows().length) { entry("j", "Next row"); entry("k", "Previous row"); }
  entry("Esc", "Leave a field, close a dialog");
  document.getElementById("keys-on").checked = keysOn();
}
document.getElementById("keys-on")?.addEventListener("change", (e) => localStorage.setItem("keys", e.target.checked ? "on" : "off"));
