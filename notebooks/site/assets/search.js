// Search in all pages: every word of the query has to occur. Titles count more than text, beginnings
// of words more than their insides, pages of the guide more than members of classes.
"use strict";
(() => {
  const input = document.getElementById("query");
  const list = document.getElementById("found");
  const root = document.body.dataset.root;
  const most = 30;
  let chosen = -1;

  const score = (entry, words) => {
    const title = entry.title.toLowerCase();
    const page = entry.page.toLowerCase();
    const text = (entry.text + " " + (entry.words || "")).toLowerCase();
    let total = 0;
    for (const word of words) {
      const begins = new RegExp("(^|[^a-z0-9])" + word.replace(/[^a-z0-9]/g, "\\$&"));
      if (title === word || title.endsWith("." + word)) total += 60;
      else if (begins.test(title)) total += 25;
      else if (title.includes(word)) total += 8;
      else if (begins.test(page)) total += 12;
      else if (begins.test(text)) total += 3;
      else if (text.includes(word)) total += 1;
      else return 0;
    }
    if (entry.address.startsWith("guide/")) total *= 1.5;
    if (!entry.address.includes("#")) total *= 1.5;
    if (/\.[A-Z]\w*\./.test(entry.title)) total /= 2;
    return total - Math.min(title.length, 60) / 1000;
  };

  const excerpt = (text, word) => {
    const at = Math.max(0, text.toLowerCase().indexOf(word) - 40);
    return (at ? "… " : "") + text.slice(at, at + 150) + (at + 150 < text.length ? " …" : "");
  };

  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    chosen = -1;
    list.replaceChildren();
    list.hidden = words.length === 0;
    if (list.hidden) return;
    const hits = window.SEARCH_INDEX.map((entry) => [score(entry, words), entry])
      .filter(([points]) => points > 0)
      .sort((a, b) => b[0] - a[0])
      .slice(0, most);
    for (const [, entry] of hits) {
      const link = document.createElement("a");
      link.href = root + entry.address;
      link.textContent = entry.title;
      if (entry.page !== entry.title) {
        const place = document.createElement("span");
        place.className = "place";
        place.textContent = " " + entry.page;
        link.append(place);
      }
      const line = document.createElement("small");
      line.textContent = excerpt(entry.text, words[0]);
      link.append(line);
      const item = document.createElement("li");
      item.append(link);
      list.append(item);
    }
    if (hits.length === 0) {
      const none = document.createElement("li");
      none.className = "none";
      none.textContent = "Nothing found";
      list.append(none);
    }
  };

  input.addEventListener("input", show);
  input.addEventListener("focus", show);
  input.addEventListener("keydown", (event) => {
    const links = [...list.querySelectorAll("a")];
    if (event.key === "Escape") {
      list.hidden = true;
    } else if (event.key === "Enter" && links.length) {
      links[Math.max(chosen, 0)].click();
      list.hidden = true;
    } else if (links.length && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      chosen = (chosen + step + links.length) % links.length;
      links.forEach((link, at) => link.classList.toggle("chosen", at === chosen));
      links[chosen].scrollIntoView({ block: "nearest" });
    }
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest(".search")) list.hidden = true;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement === document.body) {
      event.preventDefault();
      input.focus();
    }
  });
  const query = new URLSearchParams(location.search).get("q");
  if (query) {
    input.value = query;
    show();
  }
})();
