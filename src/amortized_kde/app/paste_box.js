// The box that numbers are pasted into. It sends a text as soon as it is pasted, or when typing pauses.

// A text area lays out every line, which takes seconds for a longer text; only its beginning is shown.
const LONG = 50_000;
const SHOWN = 1_000;
// The longest text that is sent; a million numbers with all their digits are shorter.
const MOST = 40_000_000;
const PAUSE = 700;

export default function ({ parentElement, data, setTriggerValue }) {
  const box = parentElement.querySelector("textarea");
  const clear = parentElement.querySelector("button");
  const note = parentElement.querySelector("[role=status]");

  function say(text) {
    note.textContent = text;
    note.hidden = text === "";
  }

  function send(text, pasted = false) {
    clearTimeout(box.waiting);
    if (text === box.sent) return;
    box.sent = text;
    setTriggerValue("text", { text, pasted });
    // A phone's keyboard would cover the picture.
    if (pasted && window.matchMedia("(pointer: coarse)").matches) box.blur();
  }

  function showBeginning(start, length) {
    box.value = start + "\n…";
    box.readOnly = true;
    say(`${(length / 1e6).toFixed(1)} MB were read; only the beginning is shown here.`);
  }

  function empty() {
    box.value = "";
    box.readOnly = false;
    say("");
  }

  box.placeholder = data.placeholder;
  parentElement.querySelector("#form").textContent = data.form;

  // At first, and when a change was undone.
  if (box.undone !== data.undone) {
    box.undone = data.undone;
    empty();
    box.value = box.sent = data.text;
    if (data.length > data.text.length) showBeginning(data.text, data.length);
  }

  box.onpaste = (event) => {
    const text = event.clipboardData.getData("text/plain");
    if (text.length > MOST) {
      event.preventDefault();
      say(`This text has ${(text.length / 1e6).toFixed(0)} MB, and the field takes up to 40 MB; upload it as a file.`);
    } else if (text.length > LONG || box.readOnly) {
      event.preventDefault();
      if (text.length > LONG) showBeginning(text.slice(0, SHOWN), text.length);
      else { empty(); box.value = text; }
      send(text, true);
    } else {
      // The text area changes after this event.
      setTimeout(() => send(box.value, true));
    }
  };

  box.oninput = () => {
    clearTimeout(box.waiting);
    say("");
    box.waiting = setTimeout(() => send(box.value), PAUSE);
  };

  box.onchange = () => { if (!box.readOnly) send(box.value); };

  clear.onclick = () => {
    empty();
    send("");
    box.focus();
  };
}
