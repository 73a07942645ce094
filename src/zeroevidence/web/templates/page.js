"use strict";
(() => {
  // Files dropped on a field are as good as chosen ones; files dropped beside it do not replace the page.
  const stop = (event) => event.preventDefault();
  window.addEventListener("dragover", stop);
  window.addEventListener("drop", stop);
  document.querySelectorAll("[data-drop]").forEach((field) => {
    const input = field.querySelector("input");
    field.addEventListener("dragover", () => field.classList.add("over"));
    field.addEventListener("dragleave", () => field.classList.remove("over"));
    field.addEventListener("drop", (event) => {
      event.preventDefault();
      field.classList.remove("over");
      if (!event.dataTransfer.files.length) return;
      const files = new DataTransfer();
      [...event.dataTransfer.files].slice(0, input.multiple ? undefined : 1).forEach((file) => files.items.add(file));
      input.files = files.files;
    });
  });

  const form = document.querySelector("form[data-max-bytes]");
  if (form) {
    form.addEventListener("submit", (event) => {
      const size = [...form.querySelectorAll("input[type=file]")].flatMap((input) => [...input.files]).reduce((sum, file) => sum + file.size, 0);
      const large = size > Number(form.dataset.maxBytes);
      form.querySelector(".too-large").hidden = !large;
      if (large) event.preventDefault();
    });
  }

  const poll = document.querySelector("[data-poll]");
  if (poll) {
    const message = poll.querySelector(".message");
    const bar = poll.querySelector("progress");
    const ask = async () => {
      try {
        const answer = await fetch(poll.dataset.poll);
        const state = await answer.json();
        if (state.over) { location.reload(); return; }
        message.textContent = state.total ? `${state.message} (${state.done} of ${state.total})` : state.message;
        if (state.total) { bar.max = state.total; bar.value = state.done; } else { bar.removeAttribute("value"); }
        setTimeout(ask, 500);
      } catch {
        message.textContent = "the page no longer answers; is zeroevidence still running?";
      }
    };
    setTimeout(ask, 300);
  }
})();
