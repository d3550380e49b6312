{
// A link to something that is folded opens it.
function unfold() {
  const id = decodeURIComponent(location.hash.slice(1));
  const target = id && document.getElementById(id);
  if (!target) return;
  const details = target.matches("details") ? target : target.querySelector("details");
  if (details) details.open = true;
}
addEventListener("hashchange", unfold);
document.addEventListener("click", (e) => {
  const link = e.target.closest('a[href^="#"]');
  if (link && link.getAttribute("href") === location.hash) unfold();
});
unfold();
}
