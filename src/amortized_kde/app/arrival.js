// Scrolls to the picture when other numbers arrive, where it is out of view: below the fields, as on a phone.

let last = null;

function hideBrushes(place) {
  // Vega gives the brush no name; who uses no pointer types the axis limits.
  for (const mark of place.querySelectorAll("[class*=zoom_brush]")) mark.setAttribute("aria-hidden", "true");
}

export default function ({ data }) {
  const place = document.querySelector(".st-key-result");
  if (place === null) return;
  hideBrushes(place);
  const observer = new MutationObserver(() => hideBrushes(place));
  observer.observe(place, { childList: true, subtree: true });

  const first = last === null;
  const arrived = data.arrivals !== last;
  last = data.arrivals;
  if (arrived && !first && place.getBoundingClientRect().top > 0.6 * window.innerHeight) {
    const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    place.scrollIntoView({ behavior: still ? "auto" : "smooth" });
  }
  return () => observer.disconnect();
}
