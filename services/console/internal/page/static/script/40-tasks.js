{
// Selecting many rows: what has data-pick, counted in [data-bulk].
let lastPick = null;

function picks() {
  return [...document.querySelectorAll("[data-pick]")];
}

function counted() {
  const bar = document.querySelector("[data-bulk]");
  if (!bar) return;
  const all = picks();
  const chosen = all.filter((p) => p.checked);
  bar.hidden = chosen.length === 0;
  bar.querySelector("[data-bulk-count]").textContent = chosen.length + " selected";
  for (const words of document.querySelectorAll("[data-bulk-words]")) words.textContent = chosen.length === 1 ? "1 task" : chosen.length + " tasks";
  for (const p of all) p.closest("[data-row]")?.setAttribute("aria-selected", String(p.checked));
  const whole = document.querySelector("[data-pick-all]");
  if (whole) {
    whole.checked = all.length > 0 && chosen.length === all.length;
    whole.indeterminate = chosen.length > 0 && chosen.length < all.length;
    whole.disabled = all.length === 0;
  }
}

document.addEventListener("click", (e) => {
  if (e.target.matches("[data-pick]")) {
    if (e.shiftKey && lastPick?.isConnected) {
      const all = picks();
      const [a, b] = [all.indexOf(lastPick), all.indexOf(e.target)].sort((x, y) => x - y);
      for (const p of all.slice(a, b + 1)) p.checked = e.target.checked;
    }
    lastPick = e.target;
    counted();
  } else if (e.target.closest("[data-bulk-clear]")) {
    for (const p of picks()) p.checked = false;
    counted();
  }
});
document.addEventListener("change", (e) => {
  if (!e.target.matches("[data-pick-all]")) return;
  for (const p of picks()) p.checked = e.target.checked;
  counted();
});
document.addEventListener("keydown", (e) => {
  if (e.key !== "x" || typing(e.target) || e.ctrlKey || e.metaKey || e.altKey || !keysOn() || document.querySelector("dialog[open]")) return;
  const pick = document.activeElement?.closest("[data-row]")?.querySelector("[data-pick]");
  if (pick) { pick.checked = !pick.checked; lastPick = pick; counted(); }
});
document.addEventListener("put", counted);
document.addEventListener("sent", (e) => {
  if (e.detail.tone === "bad" || e.target.id !== "cancel-many-form") return;
  for (const p of picks()) p.checked = false;
  setTimeout(counted, 0);
});
counted();

// The query bar offers what its datalist holds for the word at the cursor (ARIA
// combobox with a list). data-complete names the datalist.
function completing(box) {
  const input = box.querySelector("input");
  const list = document.createElement("ul");
  list.id = box.dataset.complete + "-list";
  list.className = "completions";
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Suggestions");
  list.dataset.keep = "";
  list.hidden = true;
  box.append(list);
  input.setAttribute("role", "combobox");
  input.setAttribute("aria-autocomplete", "list");
  input.setAttribute("aria-controls", list.id);
  input.setAttribute("aria-expanded", "false");
  input.dataset.own = "role aria-autocomplete aria-controls aria-expanded aria-activedescendant";
  let at = -1;

  // word is what stands left of the cursor, up to a space outside of quotes.
  const word = () => {
    const left = input.value.slice(0, input.selectionStart);
    const found = /(?:[^\s"]|"(?:[^"\\]|\\.)*"?)*$/.exec(left)[0];
    return { from: left.length - found.length, text: found };
  };
  const close = () => {
    list.hidden = true;
    at = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const mark = (i) => {
    at = i;
    [...list.children].forEach((o, k) => o.setAttribute("aria-selected", String(k === i)));
    if (i >= 0) { input.setAttribute("aria-activedescendant", list.children[i].id); list.children[i].scrollIntoView({ block: "nearest" }); }
    else input.removeAttribute("aria-activedescendant");
  };
  const take = (value) => {
    const { from } = word();
    const tail = input.value.slice(input.selectionStart);
    const space = value.endsWith(":") || tail.startsWith(" ") ? "" : " ";
    input.value = input.value.slice(0, from) + value + space + tail;
    input.setSelectionRange(from + value.length + space.length, from + value.length + space.length);
    close();
    if (value.endsWith(":")) offer();
  };
  const offer = () => {
    const { text } = word();
    const lower = text.toLowerCase();
    const options = [...document.getElementById(box.dataset.complete)?.options ?? []]
      .filter((o) => (text === "" ? o.value.endsWith(":") || o.value === "retrying" : o.value.toLowerCase().includes(lower) && o.value !== text))
      .sort((a, b) => Number(b.value.toLowerCase().startsWith(lower)) - Number(a.value.toLowerCase().startsWith(lower)))
      .slice(0, 9);
    list.replaceChildren(...options.map((o, i) => {
      const li = document.createElement("li");
      li.id = list.id + "-" + i;
      li.setAttribute("role", "option");
      const b = document.createElement("b");
      b.textContent = o.value;
      const small = document.createElement("small");
      small.textContent = o.label;
      li.append(b, small);
      li.addEventListener("mousedown", (e) => { e.preventDefault(); take(o.value); input.focus(); });
      return li;
    }));
    list.hidden = options.length === 0;
    input.setAttribute("aria-expanded", String(!list.hidden));
    mark(-1);
  };
  input.addEventListener("input", offer);
  input.addEventListener("focus", offer);
  input.addEventListener("click", offer);
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (e) => {
    const n = list.children.length;
    if (list.hidden && e.key === "ArrowDown") { offer(); e.preventDefault(); return; }
    if (list.hidden) return;
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      e.preventDefault();
      mark(e.key === "ArrowDown" ? (at + 1) % n : (at <= 0 ? n : at) - 1);
    } else if (at >= 0 && (e.key === "Enter" || e.key === "Tab")) {
      e.preventDefault();
      take(list.children[at].querySelector("b").textContent);
    } else if (e.key === "Escape") {
      e.stopPropagation();
      e.preventDefault();
      close();
    }
  });
}
document.querySelectorAll("[data-complete]").forEach(completing);
}
