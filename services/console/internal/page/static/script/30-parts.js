// Parts of pages: dialogs, menus, toasts, and forms that are sent without leaving the page.

// open shows a dialog. What opened it says with data-fill-NAME what its fields hold.
function openDialog(opener) {
  const dialog = document.getElementById(opener.dataset.open);
  if (!dialog || dialog.open) return;
  if (dialog.id === "keys") listKeys();
  for (const [name, value] of Object.entries(opener.dataset)) {
    if (!name.startsWith("fill")) continue;
    const field = name.slice(4).toLowerCase();
    for (const e of dialog.querySelectorAll(`[name="${field}"], [data-filled="${field}"]`)) {
      if ("value" in e) e.value = value; else e.textContent = value;
    }
  }
  dialog.dispatchEvent(new CustomEvent("opening", { detail: opener, bubbles: true }));
  dialog.showModal();
}

document.addEventListener("click", (e) => {
  const opener = e.target.closest("[data-open]");
  if (opener) { e.preventDefault(); openDialog(opener); opener.closest("details.menu")?.removeAttribute("open"); return; }
  if (e.target.closest("[data-close]")) { e.target.closest("dialog")?.close(); return; }
  const dismissed = e.target.closest("[data-dismiss]");
  if (dismissed) { dismissed.closest(".toast").remove(); return; }
  if (e.target.matches("dialog") && e.target.open) { // the backdrop
    const box = e.target.getBoundingClientRect();
    if (e.clientX < box.left || e.clientX > box.right || e.clientY < box.top || e.clientY > box.bottom) e.target.close();
  }
  for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(e.target)) menu.open = false;
});
document.addEventListener("keydown", (e) => {
  if (e.key !== "Escape") return;
  const menu = document.querySelector("details.menu[open]");
  if (menu) { menu.open = false; menu.querySelector("summary").focus(); }
});

// toast says what has been done; what went wrong stays until it is dismissed.
function toast({ tone, text }) {
  const box = document.createElement("div");
  box.className = "toast tone-" + (tone === "bad" ? "bad" : "good");
  const p = document.createElement("p");
  p.dir = "auto";
  p.textContent = text;
  const close = document.createElement("button");
  close.type = "button";
  close.className = "plain";
  close.dataset.dismiss = "";
  close.textContent = "Dismiss";
  box.append(p, close);
  document.getElementById("toasts").append(box);
  fade(box);
}
function fade(box) {
  if (!box.classList.contains("tone-bad")) setTimeout(() => box.remove(), 8_000);
}
document.querySelectorAll(".toast").forEach(fade);

// Forms with data-send are sent from where the reader is: the answer says what to
// tell and where to go on. Without this script the same forms lead to a page.
document.addEventListener("submit", async (e) => {
  const form = e.target;
  if (!("send" in form.dataset) || e.defaultPrevented) return;
  e.preventDefault();
  if (form.getAttribute("aria-busy") === "true") return;
  const body = new FormData(form, e.submitter);
  const said = (answer) => {
    const event = new CustomEvent("sent", { detail: answer, bubbles: true, cancelable: true });
    return form.dispatchEvent(event);
  };
  form.setAttribute("aria-busy", "true");
  try {
    const files = [...body.values()].some((v) => v instanceof File);
    const answer = await fetch(e.submitter?.hasAttribute("formaction") ? e.submitter.formAction : form.action, { method: "POST", body: files ? body : new URLSearchParams(body), headers: { Accept: "application/json", "Sabha-At": location.pathname + location.search } });
    if (!answer.headers.get("Content-Type")?.startsWith("application/json")) {
      throw new Error(answer.status === 401 || answer.redirected ? "You are signed out. Load the page again to sign in." : "The console gave no answer (" + answer.status + "). Try again.");
    }
    const outcome = await answer.json();
    if (!said(outcome)) return;
    if (outcome.tone !== "bad") { form.closest("dialog")?.close(); form.reset(); }
    if (outcome.go) { location.assign(outcome.go); return; }
    if (outcome.text) toast(outcome);
  } catch (problem) {
    toast({ tone: "bad", text: problem instanceof TypeError ? "The console cannot be reached; nothing was changed. Try again." : problem.message });
  } finally {
    form.removeAttribute("aria-busy");
  }
});

// The appearance changes at once; the server remembers it.
document.addEventListener("submit", (e) => {
  if (!("themeForm" in e.target.dataset)) return;
  e.preventDefault();
  const theme = e.submitter.value;
  document.documentElement.dataset.theme = theme === "system" ? "" : theme;
  document.querySelector("meta[name=color-scheme]").content = theme === "system" ? "light dark" : theme;
  for (const b of e.target.querySelectorAll("button[name=theme]")) b.setAttribute("aria-pressed", String(b === e.submitter));
  const body = new FormData(e.target, e.submitter);
  fetch(e.target.action, { method: "POST", body: new URLSearchParams(body), headers: { Accept: "application/json" } });
});

// Copying: data-copy names an element by id, or is the text itself.
document.addEventListener("click", async (e) => {
  const button = e.target.closest("[data-copy]");
  if (!button) return;
  const from = document.getElementById(button.dataset.copy);
  await navigator.clipboard.writeText(from ? from.textContent : button.dataset.copy);
  toast({ tone: "good", text: "Copied" });
});
