"use strict";
(() => {
  const RECORDING = /\.(wav|flac|ogg|opus|mp3|m4a|aac|aiff?)$/i;
  const say = (field, text) => {
    const line = field.querySelector(".alert");
    if (line) { line.textContent = text; line.hidden = !text; }
  };
  // A recording is told apart from scores and embeddings before it is sent.
  const check = (field) => {
    if (field.hasAttribute("data-side")) { say(field, ""); return; }
    const recording = [...field.querySelector("input").files].find((file) => RECORDING.test(file.name));
    say(field, recording ? `${recording.name} is a recording. Put folders of recordings into “Recordings” above.` : "");
  };
  const put = (input, files) => {
    const chosen = new DataTransfer();
    files.slice(0, input.multiple ? undefined : 1).forEach((file) => chosen.items.add(file));
    input.files = chosen.files;
  };

  // Files dropped on a field are as good as chosen ones; files dropped beside it do not replace the page.
  const stop = (event) => event.preventDefault();
  window.addEventListener("dragover", stop);
  window.addEventListener("drop", stop);
  document.querySelectorAll("[data-drop]").forEach((field) => {
    const input = field.querySelector("input");
    field.addEventListener("dragover", () => field.classList.add("over"));
    field.addEventListener("dragleave", () => field.classList.remove("over"));
    field.addEventListener("change", () => check(field));
    field.addEventListener("drop", (event) => {
      event.preventDefault();
      field.classList.remove("over");
      const files = [...event.dataTransfer.files];
      if (!files.length) return;
      if (field.hasAttribute("data-side") && !/\.zip$/i.test(files[0].name)) {
        say(field, `${files[0].name} is no zip file. Drop one, or choose the folder with the button.`);
        return;
      }
      put(input, files);
      check(field);
    });
  });

  document.querySelectorAll("form[data-max-bytes]").forEach((form) => {
    form.addEventListener("submit", (event) => {
      const size = [...form.querySelectorAll("input[type=file]")].flatMap((input) => [...input.files]).reduce((sum, file) => sum + file.size, 0);
      const large = size > Number(form.dataset.maxBytes);
      form.querySelector(".too-large").hidden = !large;
      const missing = [...form.querySelectorAll("[data-side]")].slice(0, 2).find((field) => ![...field.querySelectorAll("input")].some((input) => input.files.length));
      if (missing) say(missing, "Nothing is chosen here yet.");
      const wrong = [...form.querySelectorAll(".field .alert")].some((line) => !line.hidden);
      if (large || missing || wrong) event.preventDefault();
    });
  });

  document.querySelectorAll("[data-copy]").forEach((button) => {
    const text = document.getElementById(button.dataset.copy);
    const select = () => { getSelection().selectAllChildren(text); button.textContent = "Selected: copy it with the keyboard"; };
    button.hidden = false;
    button.addEventListener("click", () => {
      if (!navigator.clipboard) { select(); return; }
      navigator.clipboard.writeText(text.textContent).then(() => { button.textContent = "Copied"; }, select);
    });
  });

  const poll = document.querySelector("[data-poll]");
  if (poll) {
    const message = poll.querySelector(".message");
    const bar = poll.querySelector("progress");
    const steps = [...poll.querySelectorAll(".steps li")];
    const ask = async () => {
      try {
        const answer = await fetch(poll.dataset.poll);
        const state = await answer.json();
        if (state.over) { location.reload(); return; }
        message.textContent = state.total ? `${state.message} (${state.done} of ${state.total})` : state.message;
        if (state.total) { bar.max = state.total; bar.value = state.done; } else { bar.removeAttribute("value"); }
        steps.forEach((step, number) => {
          step.classList.toggle("done", number < state.step);
          if (number === state.step && state.state === "running") step.setAttribute("aria-current", "step");
          else step.removeAttribute("aria-current");
        });
        setTimeout(ask, 500);
      } catch {
        message.textContent = "the page no longer answers; is zeroevidence still running?";
      }
    };
    setTimeout(ask, 300);
  }
})();
